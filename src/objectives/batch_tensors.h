// A batch as tensors that other programs know: to look at, or to compare a step with the original's.
#pragma once

#include "objectives/batch.h"

namespace attend {

// Under the names of transformers' arguments, padded with 0 (labels with kIgnoredLabel): input_ids and
// attention_mask [B, L], token_type_ids, position_ids and langs where they are given, decoder_input_ids and
// decoder_attention_mask of a target, pixel_values and bool_masked_pos. Of labels:
// - labels [B, L]: what each row of the stack with the vocabulary is to predict; of a decoder these are the
// next
//   tokens already (transformers shifts its own). Where rows of their own are predicted: rows [n], labels
//   [n].
// - text_labels: what the score head is to say of texts, or of tokens, as a ragged row behind the other.
// - start_positions, end_positions [B]; groups: how many texts belong together.
// - visible.B [rows, keys]: what each row of text B sees, where rows see keys of their own: 0, or very
// negative.
std::map<std::string, Tensor> to_tensors(const Batch& batch);

}  // namespace attend
