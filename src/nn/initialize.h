// Initial weights, as a family's authors or transformers' _init_weights draw them.
#pragma once

#include "nn/transformer.h"

#include <functional>

namespace attend {

// Draws the parameters that `wanted` names (all of them without it) from `seed`, as the model's spec says
// (InitializationSpec). Biases are zero, and so are rows that stand for padding. The others are left alone;
// constants always are.
void initialize(Transformer& model, std::uint64_t seed,
                const std::function<bool(const std::string& parameter)>& wanted = nullptr);

}  // namespace attend
