// Replaces a checkpoint's head by a new one.
#pragma once

#include "models/checkpoint/pretrained_model.h"

namespace attend {

// Initializes all modules of the head from `seed`; a pooler is unchanged. Returns the original names of the
// new tensors, as PretrainedModel::fresh_modules. Throws Error if the model has no head.
std::vector<std::string> draw_head(const PretrainedModel& model, std::uint64_t seed);

}  // namespace attend
