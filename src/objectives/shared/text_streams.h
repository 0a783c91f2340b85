// Running text for models with memories of earlier blocks (Transformer-XL; Dai et al. 2019, arXiv:1901.02860,
// section 3.2): the text is cut into streams that are read in parallel, block after block.
#pragma once

#include "objectives/base/objective.h"

namespace attend {

// Batch t has the t-th block of each stream. Blocks that do not divide evenly among the streams are left out,
// or with `all` make the first streams one block longer. Block 0 is first in the first batch.
std::vector<std::vector<std::int64_t>> stream_batches(std::int64_t blocks, std::int64_t streams, bool all);

// The hidden states [T, d] of the only stack for batch.tokens, texts of one length, which see trainee.carried
// of the last batch if batch.continues. Stores there what the next one may see: "memory.I" [B, M, d] for each
// layer, without gradients. Throws Error if the last batch had fewer texts.
Tensor read_streams(Trainee& trainee, const Batch& batch, Pass& pass);

}  // namespace attend
