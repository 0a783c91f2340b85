// The scores of a model's score head for whole texts or tokens, from ragged batches.
#pragma once

#include "objectives/base/objective.h"

namespace attend {

// [B, labels], or [T, labels] for a head that reads every token. A decoder after an encoder reads the same
// text, shifted by one token, as in the original. `last_hidden`: receives the hidden states [T, d] that the
// head reads.
Tensor text_scores(const PretrainedModel& model, const TokenBatch& tokens, Pass& pass,
                   Tensor* last_hidden = nullptr);

}  // namespace attend
