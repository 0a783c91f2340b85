// Contradictions in a recipe, and options without effect: both are errors, because the run would silently
// differ from what the user expects.
#include "training/recipe.h"
#include "training/recipe_options.h"

#include <algorithm>

namespace attend {

std::vector<std::string> translation_figures() {
  return {"bleu", "chrf", "rouge1", "rouge2", "rougeL", "rougeLsum"};
}

bool measures_translations(const Recipe& recipe) {
  const std::vector<std::string> figures = translation_figures();
  return recipe.bleu || (recipe.objective == "sequence-to-sequence" &&
                         std::ranges::find(figures, recipe.checkpoints.best) != figures.end());
}

namespace {

// Values out of range, and options without effect, by the tables of options. `whole` has the defaults that
// depend on other options.
void check_options(Recipe given, Recipe whole) {
  Recipe usual;
  const Options all = options_of(given), defaults = options_of(usual);
  check_values(all, defaults);
  check_effects(all, defaults, options_of(whole));
}

void check_relative_steps(const Recipe& r) {
  if (r.optimizer.relative_step && (r.optimizer.learning_rate || r.schedule.warmup ||
                                    !r.schedule.name.empty() || r.schedule.cooldown != 0))
    fail(
        "`relative_step`: it makes the rate itself; leave out `learning_rate`, `schedule`, `warmup` and "
        "`cooldown`, or leave out `relative_step`");
}

void check_validation(const Recipe& r) {
  if (!r.validation.empty()) return;
  const char* const advice = "it needs validation data: say `validation` FILE";
  if (r.checkpoints.patience > 0)
    fail("`patience` {}: {}; without it `epochs`, `steps` or `max_minutes` says when to stop",
         r.checkpoints.patience, advice);
  if (!r.checkpoints.best.empty()) fail("`best` {}: {}", r.checkpoints.best, advice);
  if (r.bleu) fail("`bleu`: {}", advice);
  if (r.schedule.name == "reduce-on-plateau") fail("`schedule` reduce-on-plateau: {}", advice);
}

void check_processes(const Recipe& r) {
  if (r.processes.shard_weights && r.optimizer.ema > 0)
    fail("`shard_weights` and `ema`: the average would need all weights in each process; leave one out");
  if (r.processes.local_steps == 0) return;
  if (r.processes.shard_optimizer || r.processes.shard_weights)
    fail(
        "`local_steps` and `{}`: each process makes its own steps, so it needs all weights and their "
        "optimizer",
        r.processes.shard_weights ? "shard_weights" : "shard_optimizer");
  if (r.optimizer.ema > 0)
    fail("`local_steps` and `ema`: the weights are those of all only where processes meet; leave `ema` out");
}

}  // namespace

void check_objective_options(const Recipe& recipe) {
  check_options(recipe, recipe);
}

void check_recipe(const Recipe& given, const Recipe& whole) {
  if (!given.optimizer.relative_step) parse_schedule(whole.schedule.name);
  check_options(given, whole);
  if (given.lowercase_bleu && !measures_translations(given))
    fail("`lowercase_bleu`: it has no effect without `bleu`");
  check_relative_steps(given);
  check_validation(given);
  check_processes(given);
  if (whole.duration.steps <= 0 && whole.duration.epochs <= 0 && whole.duration.minutes <= 0 &&
      whole.checkpoints.patience <= 0)
    fail("say when to stop: `steps`, `epochs`, `max_minutes` or `patience`");
  if (given.generator.empty() && given.objective == "replaced-tokens")
    fail("`generator`: the objective replaced-tokens needs one");
}

}  // namespace attend
