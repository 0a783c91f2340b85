// Fine-tunes a model on labelled texts and says how good it has become:
//   fine_tune all-MiniLM-L6-v2 train.tsv dev.tsv reviews
#include <attend/error.h>
#include <attend/log.h>
#include <attend/training.h>

#include <csignal>
#include <iostream>

namespace {
volatile std::sig_atomic_t interrupted = 0;
}

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: fine_tune MODEL TRAIN VALIDATION OUTPUT\n";
    return 2;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  try {
    attend::log_to_standard_error();  // progress and remarks, as the command has them
    attend::Recipe recipe;
    recipe.objective = "classification";
    recipe.model = argv[1];
    recipe.train = {argv[2]};
    recipe.validation = {argv[3]};
    recipe.output = argv[4];
    recipe.duration.epochs = 2;
    recipe.optimizer.learning_rate = 5e-5;
    if (attend::train(recipe, [] { return interrupted != 0; }) == attend::TrainingEnd::interrupted)
      return 130;
    recipe.model = argv[4];
    recipe.train = {argv[3]};
    for (const auto& [name, value] : attend::evaluate(recipe)) std::cout << name << " " << value << "\n";
    return 0;
  } catch (const attend::Error& error) {
    std::cerr << "fine_tune: " << error.what() << "\n";
    return 1;
  }
}
