// attend train --objective O --model DIR --train F... --output DIR: flags to a recipe.
#include <attend/training.h>

#include "base/interrupt.h"
#include "cli/options/flag_names.h"
#include "cli/options/model_option.h"
#include "cli/options/option_flags.h"
#include "cli/options/verb.h"
#include "parallel/ranks.h"
#include "training/recipe_options.h"

#include <cstdio>
#include <cstdlib>

namespace attend::cli {
namespace {

// Which model, and its adapter. The other options are those of the recipe.
void add_model_of(CLI::App& app, ModelPath& model) {
  app.add_option("--model", model.directory, "The model to start from, with its tokenizer (see attend init)")
      ->required();
  app.add_option_function<std::string>(
      "--adapter", [&model](const std::string& path) { model.adapters = {{path}}; },
      "An adapter of the model to continue training");
  add_weights(app, model,
              "With --lora, --ia3, --prefix, --prompt or --adapter: format of the frozen matrices; int8 "
              "takes a quarter of the memory, int4 a seventh (QLoRA)");
  add_device(app, model);
}

}  // namespace

int train(int argc, char** argv) {
  Recipe recipe;
  recipe.objective = "sequence-to-sequence";
  Parser parser(
      "train", "Trains a model from scratch or fine-tunes it. Ctrl-C saves; --resume continues.",
      "attend train --objective classification --model MiniLM --train train.tsv --validation dev.tsv "
      "--output MiniLM-reviews\n"
      "  attend train --objective sequence-to-sequence --model en-de --train train.en train.de "
      "--validation val.en val.de --output en-de-trained --max-minutes 30");
  add_model_of(parser.app(), recipe.model);
  for (const OptionGroup& group : option_groups(recipe))
    add_options(parser.app(), group.options, group.title);
  if (const auto status = parser.parse(argc, argv)) return *status;
  catch_interrupts();
  try {
    return attend::train(recipe, [] { return interrupted(); }) == TrainingEnd::finished ? 0 : 130;
  } catch (const LostRank& lost) {
    // Other threads that wait for it would keep waiting.
    std::fprintf(stderr, "attend: %s\n", with_flags(lost.what()).c_str());
    std::_Exit(1);
  }
}

}  // namespace attend::cli
