// What the next segment of a text may look back at (Dai et al. 2019, arXiv:1901.02860, section 3.2).
#pragma once

#include "nn/torch.h"

namespace attend {

// The last `most` (0: all) of a layer's states of earlier segments, past [B, M, d] or undefined, and of this
// one, states [B, L, d]: [B, at most `most`, d].
Tensor next_memory(const Tensor& past, const Tensor& states, std::int64_t most);

}  // namespace attend
