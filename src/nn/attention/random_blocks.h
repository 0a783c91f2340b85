// The random blocks of BigBird's attention (Zaheer et al. 2020, arXiv:2007.14062, section 2) as the original
// draws them in training: separate ones for every head of a layer, the same in every step.
#pragma once

#include "nn/spec/spec.h"

#include <cstdint>
#include <vector>

namespace attend {

// draws[head][q - 1]: the random blocks that block q of queries sees, for all but the first and the last of
// `blocks`, which must be more than 5 + 2 random. `layer` is the seed.
std::vector<std::vector<std::vector<std::int64_t>>> draw_random_blocks(std::int64_t layer, std::int64_t heads,
                                                                       std::int64_t blocks,
                                                                       const BlockSparse& spec);

}  // namespace attend
