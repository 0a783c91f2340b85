// Block-sparse attention (BigBird: Zaheer et al. 2020, arXiv:2007.14062): the text is cut into blocks; the
// first and the last see all and are seen by all, the others see themselves, their neighbours and a few
// random ones. Cost and memory grow linearly with the length.
#pragma once

#include "nn/attention_function.h"

namespace attend {

// The blocks whose keys each of `blocks` query blocks sees. A block may stand there more than once, and then
// its keys count so many times. `random[q - 1]` are the random blocks of block q.
std::vector<std::vector<std::int64_t>> block_plan(std::int64_t blocks,
                                                  const std::vector<std::vector<std::int64_t>>& random);

// Attention of packed [T, 3 w]. Sequences of up to (5 + 2 random) blocks attend to everything, as in
// the original. `layer`: whose random blocks are drawn (nn/random_blocks.h), which the original does in
// training; absent: all of them are the first block, as in evaluation.
Tensor block_sparse_attention(const Tensor& packed, const Offsets& offsets, const BlockSparse& blocks,
                              const AttentionCall& call, std::optional<std::int64_t> layer = {});

}  // namespace attend
