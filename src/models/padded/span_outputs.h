// Answer search as in transformers' XLNetForQuestionAnswering and XLMForQuestionAnswering.
#pragma once

#include "models/padded/forward_parts.h"

namespace attend {

// hidden [B, L, d]. With start_positions and end_positions returns the loss, to which is_impossible with
// cls_index adds a term. Without them puts the most likely starts, each with its most likely ends, into
// `out`. p_mask [B, L]: 1 where no answer may begin or end.
Tensor put_spans(Tensors& out, const Tensors& inputs, SpanSearch& search, const Tensor& hidden, Pass& pass);

}  // namespace attend
