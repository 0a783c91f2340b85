// Training and fine-tuning from C++: a Recipe describes the run, train() runs it.
//
//   attend::Recipe recipe;
//   recipe.objective = "classification";
//   recipe.model = "MiniLM";
//   recipe.train = {"reviews.tsv"};
//   recipe.output = "MiniLM-reviews";
//   recipe.optimizer.learning_rate = 3e-5;
//   attend::train(recipe);
#pragma once

#include <attend/export.h>
#include <attend/recipe.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attend {
inline namespace v1 {

enum class TrainingEnd { finished, interrupted };

// Trains and saves the result in recipe.output. `stop` is called between steps; if it returns true, the run
// is saved and ends. Throws Error for an invalid recipe, for data that cannot be read, and as
// training/trainer.h says.
ATTEND_API TrainingEnd train(const Recipe& recipe, const std::function<bool()>& stop = {});

// The names of all objectives, each with a one-line description.
ATTEND_API std::vector<std::pair<std::string, std::string>> objectives();

// The metrics of a model on data, by name: "accuracy", "f1", "spearman", "exact_match", "loss" ... Uses the
// recipe's objective (or "language-model": causal or masked, as the model is), model, `train` (here the
// evaluation data), batch size and the fields about data. Throws Error for a model without a head for the
// objective; evaluate() never adds one.
ATTEND_API std::vector<std::pair<std::string, double>> evaluate(const Recipe& recipe);

}  // namespace v1
}  // namespace attend
