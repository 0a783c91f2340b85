// The factors of a model's scores over its vocabulary, for losses that never need all scores in memory.
#pragma once

#include "nn/losses/distillation.h"
#include "nn/transformer/transformer.h"

namespace attend {

// From the last hidden states [n, d], through the head's own transform. An Error for a model without a head
// over its vocabulary, or with clusters (Transformer-XL), whose scores are not one product.
VocabularyScores vocabulary_scores(const Transformer& model, const Tensor& hidden, Pass& pass);

}  // namespace attend
