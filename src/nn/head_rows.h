// Which rows of a ragged batch a head over labels reads.
#pragma once

#include "nn/ragged.h"
#include "nn/spec.h"

namespace attend {

// The index of the row of each text that the head reads: [B] int64; undefined where it reads every row.
// pooled, first_token and text_begin: the first; last_token, last_column, chosen_token and before_token: the
// last, which stands before ScoreHeadSpec::token_id where a text ends with tokens of it (last_token), or from
// where one begins (before_token): so the original finds the end of a padded text. end_token: the decoder's
// row where `source`, what the encoder read, has its last token_id; Error for a text without one, or with too
// short a target.
Tensor head_row_numbers(const ScoreHeadSpec& spec, const TokenBatch& batch, const TokenBatch* source);

// These rows of hidden states [T, d]: [B, d], or all [T, d]. A pooled head reads what Pooler makes of them.
Tensor head_rows(const ScoreHeadSpec& spec, const TokenBatch& batch, const Tensor& hidden,
                 const TokenBatch* source = nullptr);

}  // namespace attend
