// The inputs of a stack for a text, and how the original interprets them.
#pragma once

#include "models/forward_parts.h"

namespace attend {

// The names beside the labels, those too that the original takes and passes over.
std::set<std::string> text_inputs(const StackSpec& stack);

// What attention_mask, lengths or input_mask say: [B, L], or undefined: every token is real.
Tensor read_mask(const Tensors& inputs, const StackSpec& stack);

// The real tokens of `layout`, with position_ids, token_type_ids and langs under names that begin with
// `prefix`.
TokenBatch read_text(const Tensors& inputs, const Padded& layout, const StackSpec& stack,
                     const std::string& prefix = "");

}  // namespace attend
