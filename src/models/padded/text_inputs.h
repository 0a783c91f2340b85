// The inputs of a stack for a text, and how the original interprets them.
#pragma once

#include "models/padded/forward_parts.h"

namespace attend {

// The names of the inputs other than labels, including those that the original accepts and ignores.
std::set<std::string> text_inputs(const StackSpec& stack);

// The mask from attention_mask, lengths or input_mask: [B, L], or undefined: every token is real.
Tensor read_mask(const Tensors& inputs, const StackSpec& stack);

// The real tokens of `layout`, with position_ids, token_type_ids and langs from inputs whose names begin with
// `prefix`.
TokenBatch read_text(const Tensors& inputs, const Padded& layout, const StackSpec& stack,
                     const std::string& prefix = "");

}  // namespace attend
