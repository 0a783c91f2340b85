// What a model says at each place, and what it would say behind each of its layers.
#pragma once

#include "explain/explanation.h"
#include "models/pretrained_model.h"

namespace attend {

// The `count` likeliest of logits [places, V], the likeliest first.
TokenRanking rank_tokens(const Tensor& logits, std::int64_t count);

// Of a model that predicts tokens. `last`: what its last stack gave, [T, d]; `hidden`: what each layer of it
// was given, and what the last one gave (Capture), from which the lens reads `lens` tokens.
ExplainedPredictions predict(const PretrainedModel& model, std::size_t side, const Tensor& last,
                             const std::vector<Tensor>& hidden, std::int64_t count, std::int64_t lens);

}  // namespace attend
