// Statistics of heads: how widely they attend, how far, and to what (Clark et al. 2019, arXiv:1906.04341).
#pragma once

#include "explain/explanation.h"

namespace attend {

// For the weights [heads, Lq, Lk] of an attention between these sides. The first `memory` keys do not belong
// to a token.
HeadStatistics head_statistics(const Tensor& weights, const ExplainedSide& queries, const ExplainedSide& keys,
                               std::int64_t memory);

}  // namespace attend
