// Attention with tensor operations: sequence by sequence, or on a device all at once if possible.
#pragma once

#include "nn/attention/attention_layout.h"
#include "nn/attention/plain_attention.h"

#include <utility>

namespace attend {

class PlainSequences {
 public:
  PlainSequences(const Tensor& first, const AttentionLayout& layout, const KeySource& keys,
                 const Sight& sight, const AttentionCall& call)
      : views_(first, keys.rows, call.spec, keys.cache != nullptr),
        layout_(layout),
        keys_(keys),
        sight_(sight),
        call_(call),
        padded_(reads_padding(keys, sight, call)) {}

  Tensor attend() const;
  void capture_all() const;  // into call.scores

 private:
  bool can_be_padded() const;  // whether padded_attention() computes all sequences at once
  Tensor attend_together() const;
  Tensor query(std::int64_t b) const { return layout_.queries.part(views_.query, b); }
  std::pair<Tensor, Tensor> keys_of(std::int64_t b) const;
  PaddedRows padding(std::int64_t b) const;
  QueryMask seen(std::int64_t b) const;

  AttentionViews views_;
  const AttentionLayout& layout_;
  const KeySource& keys_;
  const Sight& sight_;
  const AttentionCall& call_;
  bool padded_;
};

}  // namespace attend
