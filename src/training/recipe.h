// What a recipe leaves open, filled in; and what the loop makes of it.
#pragma once

#include <attend/training.h>

#include "models/adapter_config.h"
#include "objectives/registry.h"
#include "training/trainer.h"

namespace attend {

// The recipe with every choice made, by its objective and by `width` of the model. Error for what contradicts
// itself or the objective.
Recipe complete(Recipe recipe, const ObjectiveKind& kind, std::int64_t width);
TrainingOptions training_options(const Recipe& complete);
// Error for an option of `given` that contradicts another or has no effect, and for one that is missing;
// `whole` is what complete() made of it (recipe_check.cpp).
void check_recipe(const Recipe& given, const Recipe& whole);
// Those of what is read alone: the part of it that evaluate() needs.
void check_objective_options(const Recipe& recipe);
// The figures of what an encoder-decoder writes, and are they to be measured?
std::vector<std::string> translation_figures();
bool measures_translations(const Recipe& recipe);
// The adapter that is to be made; nothing where the model itself learns, or an adapter that is there already.
std::optional<AdapterOptions> adapter_options(const Recipe& recipe);
// What peft calls an objective's task, for adapter_config.json; empty where it has no name for it.
std::string adapter_task(const std::string& objective);

}  // namespace attend
