// Value zeroing (Mohebbi et al. 2023, arXiv:2301.12971): how much a token's vector changes in a layer if the
// value of another token is set to zero while everything else stays.
#pragma once

#include "explain/attribution.h"

namespace attend {

// The product of the layers' matrices, as in rollout: the row of the position, or of a label's head; the mean
// if there are several. Row i of a layer's matrix: 1 minus the cosine between the layer's result for token i
// and the result without the value of token j, normalized to a sum of 1; for a decoder with an encoder, over
// target and source together. The scores sum to 1. Like rollout, it does not depend on the token or label.
// Throws Error for a model with prefixes.
TokenScores value_zeroing(const AttributionTask& task);

}  // namespace attend
