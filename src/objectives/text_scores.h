// What a model's score head says of whole texts or of their tokens, from ragged batches.
#pragma once

#include "objectives/objective.h"

namespace attend {

// [B, labels], or [T, labels] of a head that reads every token. A decoder behind an encoder reads the same
// text, a token behind, as the original does. `last_hidden`: the hidden states [T, d] that the head reads go
// there.
Tensor text_scores(const PretrainedModel& model, const TokenBatch& tokens, Pass& pass,
                   Tensor* last_hidden = nullptr);

}  // namespace attend
