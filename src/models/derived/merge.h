// Merges adapters into weights: W + scale B A instead of W, and back.
#pragma once

#include <attend/convert.h>

#include "models/checkpoint/pretrained_model.h"

namespace attend {

// Merges the model's adapters into its weights, in float32, and removes the adapters. An Error for an adapter
// of a table that other parts of the model read too, or whose factors have a bias if the model's matrix has
// none. Returns what rounding the result to `type` would cost.
RoundingCost merge_adapters(PretrainedModel& model, ScalarType type = kFloat);
// Subtracts the adapter from weights that it was merged into. An Error for DoRA, because the original lengths
// of rows are lost, and for factors that are zero.
void unmerge_adapters(PretrainedModel& model);

}  // namespace attend
