// Initial weights, as a family's authors or transformers' _init_weights draw them.
#pragma once

#include "nn/transformer/transformer.h"

#include <functional>

namespace attend {

// Draws the parameters for which `wanted` returns true (all without it) from `seed`, as the model's spec says
// (InitializationSpec). Biases and rows for padding are zero. Other parameters and constants stay unchanged.
void initialize(Transformer& model, std::uint64_t seed,
                const std::function<bool(const std::string& parameter)>& wanted = nullptr);

}  // namespace attend
