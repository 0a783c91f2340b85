// How much of each token a result's row has collected through the attention of all layers.
#pragma once

#include "explain/attribution.h"

namespace attend {

// Attention rollout (Abnar and Zuidema 2020, arXiv:2005.00928): of each layer the mean of its heads and the
// way past them, half each, multiplied. A cross-attention is one more such step (Ferrando et al. 2022,
// arXiv:2205.11631). What is read is the row of the place, or of a label's head; of several the mean. Shares
// of 1, over all sides together. It does not know what is asked for, only where.
TokenScores attention_rollout(const AttributionTask& task);

// The same with each weight times its gradient, as far as that is positive, in the mean of the heads; by the
// rules of Chefer et al. 2021 (arXiv:2103.15679) for one stack and for an encoder with a decoder. Without the
// row's own token, which no attention brings. Error where weights are not what the result is made of
// (BigBird's blocks).
TokenScores gradient_rollout(const AttributionTask& task);

// The row of a product of matrices, layer by layer: what the steps (first layer first) make of a side's rows.
// `rows` [n]: the weight of each row of the last layer. Each step [n, n] is one layer.
Tensor roll_out(const std::vector<Tensor>& steps, Tensor rows);

}  // namespace attend
