// Merges Transformer-XL's memory, which is empty before the first segment, into one key.
#pragma once

#include "explain/explanation.h"

namespace attend {

// Merges the first `count` keys of a layer into one. Its weight is the sum of theirs, its score the logarithm
// of the sum of their exponentials. Their values are alike.
void fold_memory(ExplainedAttention::Layer& layer, std::int64_t count);

}  // namespace attend
