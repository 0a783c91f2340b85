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
// The adapter that is to be made; nothing where the model itself learns, or an adapter that is there already.
std::optional<AdapterOptions> adapter_options(const Recipe& recipe);
// What peft calls an objective's task, for adapter_config.json; empty where it has no name for it.
std::string adapter_task(const std::string& objective);

}  // namespace attend
