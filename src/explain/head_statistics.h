// Heads in numbers: how widely they look, how far, and at what (Clark et al. 2019, arXiv:1906.04341).
#pragma once

#include "explain/explanation.h"

namespace attend {

// Of the weights [heads, Lq, Lk] of an attention between these sides; before the keys of its tokens stand
// `memory` others, which are no token's.
HeadStatistics head_statistics(const Tensor& weights, const ExplainedSide& queries, const ExplainedSide& keys,
                               std::int64_t memory);

}  // namespace attend
