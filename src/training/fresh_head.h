// A new head in the place of one that a checkpoint has.
#pragma once

#include "models/pretrained_model.h"

namespace attend {

// Draws all that makes scores of hidden states from `seed`; a pooler stays. Returns the original names of
// what is new, as PretrainedModel::fresh_modules. Error where the model has nothing of the kind.
std::vector<std::string> draw_head(const PretrainedModel& model, std::uint64_t seed);

}  // namespace attend
