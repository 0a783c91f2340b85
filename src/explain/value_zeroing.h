// Value zeroing (Mohebbi et al. 2023, arXiv:2301.12971): how much a token's vector changes in a layer if the
// value of another token is set to zero while everything else stays.
#pragma once

#include "explain/attribution.h"

namespace attend {

// The layers' matrices rolled out to the row of the place, or of a label's head; of several the mean. Row i
// of a layer's matrix: 1 less the cosine between the layer's result for token i and that without the value of
// token j, as shares of 1; of a decoder with an encoder over target and source together. Shares of 1. Like
// rollout it does not know what is asked for. Error for a model with prefixes.
TokenScores value_zeroing(const AttributionTask& task);

}  // namespace attend
