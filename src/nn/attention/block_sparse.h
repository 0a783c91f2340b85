// Block-sparse attention (BigBird: Zaheer et al. 2020, arXiv:2007.14062). The text is divided into blocks.
// The first and the last see all and are seen by all; the others see themselves, their neighbours and a few
// random blocks. Cost and memory grow linearly with the length.
#pragma once

#include "nn/attention/attention_function.h"

namespace attend {

// The blocks whose keys each of `blocks` query blocks sees. If a block is listed several times, its keys
// count as often. `random[q - 1]` are the random blocks of block q.
std::vector<std::vector<std::int64_t>> block_plan(std::int64_t blocks,
                                                  const std::vector<std::vector<std::int64_t>>& random);

// Attention of packed [T, 3 w]. Sequences of up to (5 + 2 random) blocks attend to everything, as in the
// original. `layer`: the layer whose random blocks are drawn (nn/attention/random_blocks.h), as the original
// does in training; absent: all random blocks are the first block, as in evaluation.
Tensor block_sparse_attention(const Tensor& packed, const Offsets& offsets, const BlockSparse& blocks,
                              const AttentionCall& call, std::optional<std::int64_t> layer = {});

}  // namespace attend
