// Which rows of a ragged batch a head over labels reads.
#pragma once

#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

namespace attend {

// The index of the row of each text that the head reads: [B] int64; undefined if it reads every row. pooled,
// first_token and text_begin: the first. last_token, last_column, chosen_token and before_token: the last;
// but if a text ends with tokens ScoreHeadSpec::token_id, last_token takes the one before those, and
// before_token takes the one before the first token_id, which is how the original finds the end of a padded
// text. end_token: the decoder's row at the index of the last token_id in `source`, the encoder's input; an
// Error for a text without one, or with a target that is too short.
Tensor head_row_numbers(const ScoreHeadSpec& spec, const TokenBatch& batch, const TokenBatch* source);

// These rows of hidden states [T, d]: [B, d], or all [T, d]. A pooled head reads the output of Pooler.
Tensor head_rows(const ScoreHeadSpec& spec, const TokenBatch& batch, const Tensor& hidden,
                 const TokenBatch* source = nullptr);

}  // namespace attend
