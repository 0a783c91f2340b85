// A model's predictions at each position, also after each of its layers.
#pragma once

#include "explain/explanation.h"
#include "models/checkpoint/pretrained_model.h"

namespace attend {

// The `count` likeliest of logits [places, V], best first.
TokenRanking rank_tokens(const Tensor& logits, std::int64_t count);

// For a model that predicts tokens. `last`: the output of its last stack, [T, d]; `hidden`: the input of each
// layer and the output of the last (Capture), from which the lens takes the best `lens` tokens.
ExplainedPredictions predict(const PretrainedModel& model, std::size_t side, const Tensor& last,
                             const std::vector<Tensor>& hidden, std::int64_t count, std::int64_t lens);

}  // namespace attend
