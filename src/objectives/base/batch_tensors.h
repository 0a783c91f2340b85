// A batch as tensors that other programs can read: for inspection, or to compare a step with the original's.
#pragma once

#include "objectives/base/batch.h"

namespace attend {

// Under the names of transformers' arguments, padded with 0 (labels: with kIgnoredLabel): input_ids and
// attention_mask [B, L], token_type_ids, position_ids and langs if given, decoder_input_ids and
// decoder_attention_mask of a target, pixel_values and bool_masked_pos. Of labels:
// - labels [B, L]: the label of each row of the stack with the vocabulary head; for a decoder these are
//   already the next tokens (transformers shifts its own). If separate rows are predicted: rows [n],
//   labels [n].
// - text_labels: the score head's labels of texts, or of tokens as a ragged row, one text after another.
// - start_positions, end_positions [B]; groups: number of texts in each group.
// - visible.B [rows, keys]: the mask of each row of text B, if rows have different visible keys: 0, or very
//   negative.
std::map<std::string, Tensor> to_tensors(const Batch& batch);

}  // namespace attend
