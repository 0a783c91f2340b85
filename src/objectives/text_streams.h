// Running text for models that look back at what they made of its earlier blocks (Transformer-XL; Dai et al.
// 2019, arXiv:1901.02860, section 3.2): the text is cut into streams that are read side by side, block after
// block.
#pragma once

#include "objectives/objective.h"

namespace attend {

// Batch t has the t-th block of each stream. What is left over when so many streams are equally long is left
// out, or with `all` makes the first streams one block longer. Block 0 is in the first batch and in front.
std::vector<std::vector<std::int64_t>> stream_batches(std::int64_t blocks, std::int64_t streams, bool all);

// The hidden states [T, d] of the only stack for batch.tokens, texts of one length, which see what
// trainee.carried holds of the batch before if batch.continues. Leaves there what the next one may see:
// "memory.I" [B, M, d] for each layer, without gradients. Error where the batch before had fewer texts.
Tensor read_streams(Trainee& trainee, const Batch& batch, Pass& pass);

}  // namespace attend
