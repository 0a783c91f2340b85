// The work that `attend bench --work train` measures.
#pragma once

#include "models/checkpoint/pretrained_model.h"

#include <functional>

namespace attend {

// Forward, backward and an optimizer step, with the model's own dropout: one round of tasks/bench.h.
std::function<void()> training_work(const PretrainedModel& model,
                                    const std::vector<std::vector<std::int64_t>>& sequences, bool bfloat16);

}  // namespace attend
