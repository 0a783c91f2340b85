// Memories: what the next segment of a text may attend to (Dai et al. 2019, arXiv:1901.02860, section 3.2).
#pragma once

#include "nn/spec/spec.h"
#include "tensor/tensor.h"

namespace attend {

// The memory of a layer: from its states of earlier segments, past [B, M, d] or undefined, and of this
// segment, states [B, L, d]: [B, at most StackSpec::memory, d]. Of this segment it keeps the first
// StackSpec::remembered states.
Tensor next_memory(const Tensor& past, const Tensor& states, const StackSpec& stack);

}  // namespace attend
