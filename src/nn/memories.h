// Memories: what the next segment of a text may attend to (Dai et al. 2019, arXiv:1901.02860, section 3.2).
#pragma once

#include "nn/spec.h"
#include "tensor/tensor.h"

namespace attend {

// Of a layer's states of earlier segments, past [B, M, d] or undefined, and of this one, states [B, L, d]:
// what the stack keeps, [B, at most StackSpec::memory, d]; of this segment its first StackSpec::remembered.
Tensor next_memory(const Tensor& past, const Tensor& states, const StackSpec& stack);

}  // namespace attend
