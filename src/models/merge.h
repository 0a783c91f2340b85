// Merges adapters into weights: W + scale B A instead of W, and back.
#pragma once

#include "models/pretrained_model.h"

namespace attend {

// What rounding takes of a change: both as root mean squares over all numbers of the changed matrices.
struct RoundingCost {
  double change = 0, error = 0;
};

// Puts what the model's adapters do into its weights, in float32, and takes the adapters away. Error for one
// beside a table that other parts of the model read too, or whose factors have a bias where the model has
// none. Gives what it would cost to round the result to `type`.
RoundingCost merge_adapters(PretrainedModel& model, ScalarType type = kFloat);
// Takes it out of weights that it was put into. Error for DoRA, which leaves nothing of the lengths that rows
// had, and for factors that are zero.
void unmerge_adapters(PretrainedModel& model);

}  // namespace attend
