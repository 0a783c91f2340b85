// How much of each token the row of a result has collected through the attention of all layers.
#pragma once

#include "explain/attribution.h"

namespace attend {

// Attention rollout (Abnar and Zuidema 2020, arXiv:2005.00928): the product over layers of the heads' mean
// and the identity (the residual connection), half each. A cross-attention is one more such step (Ferrando et
// al. 2022, arXiv:2205.11631). The result is the row of the position, or of a label's head; the mean if there
// are several. The scores of all sides sum to 1. It depends on the position of the prediction only, not on
// the token or label.
TokenScores attention_rollout(const AttributionTask& task);

// The same with each weight times the positive part of its gradient, averaged over heads; by the rules of
// Chefer et al. 2021 (arXiv:2103.15679) for one stack and for an encoder with a decoder. Without the row's
// own token, because attention does not bring it there. Throws Error if the result is not computed from the
// weights (BigBird's blocks).
TokenScores gradient_rollout(const AttributionTask& task);

// A row of the product of matrices, layer by layer: how the steps (first layer first) combine a side's rows.
// `rows` [n]: the weight of each row of the last layer. Each step [n, n] is one layer.
Tensor roll_out(const std::vector<Tensor>& steps, Tensor rows);

}  // namespace attend
