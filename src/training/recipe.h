// Fills in the defaults of a recipe, and turns it into options of the loop.
#pragma once

#include <attend/training.h>

#include "models/adapters/adapter_config.h"
#include "objectives/base/registry.h"
#include "training/trainer.h"

namespace attend {

// The recipe with all defaults, which depend on its objective and on the `width` of the model. Throws Error
// for contradictions.
Recipe complete(Recipe recipe, const ObjectiveKind& kind, std::int64_t width);
TrainingOptions training_options(const Recipe& complete);
// Throws Error for an option of `given` that contradicts another or has no effect, and for a missing one;
// `whole` is the result of complete() (recipe_check.cpp).
void check_recipe(const Recipe& given, const Recipe& whole);
// The part of the check that evaluate() needs.
void check_objective_options(const Recipe& recipe);
// The metrics of translations, and whether the run measures them.
std::vector<std::string> translation_figures();
bool measures_translations(const Recipe& recipe);
// The adapter to create; none if the model itself or an existing adapter is trained.
std::optional<AdapterOptions> adapter_options(const Recipe& recipe);
// peft's name for the objective's task, for adapter_config.json; empty if it has none.
std::string adapter_task(const std::string& objective);

}  // namespace attend
