// Log-probabilities of given tokens, one by one, for losses that compare whole texts.
#pragma once

#include "nn/transformer/transformer.h"

namespace attend {

// log p(labels[i]) from the head's scores over the vocabulary for hidden states [n, d]: [n]. Differentiable.
// If the head is one matrix product, scores are computed for a block of rows at a time, and again for the
// gradients: [n, V] is never in memory.
Tensor token_log_probabilities(const Transformer& model, const Tensor& hidden, const Tensor& labels,
                               Pass& pass);

}  // namespace attend
