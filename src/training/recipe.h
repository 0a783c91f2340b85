// What a recipe leaves open, filled in; and what the loop makes of it.
#pragma once

#include <attend/training.h>

#include "objectives/registry.h"
#include "training/trainer.h"

namespace attend {

// The recipe with every choice made, by its objective and by `width` of the model. Error for what contradicts
// itself or the objective.
Recipe complete(Recipe recipe, const ObjectiveKind& kind, std::int64_t width);
TrainingOptions training_options(const Recipe& complete);

}  // namespace attend
