// Log-probabilities of given tokens, one by one: for losses that weigh whole texts against each other.
#pragma once

#include "nn/transformer.h"

namespace attend {

// log p(labels[i]) by the scores over the vocabulary that the model's head makes of hidden states [n, d]:
// [n]. Differentiable. Where the head is one product of matrices, the scores are made a block of rows at a
// time, and again for the gradients: no [n, V] is ever held.
Tensor token_log_probabilities(const Transformer& model, const Tensor& hidden, const Tensor& labels,
                               Pass& pass);

}  // namespace attend
