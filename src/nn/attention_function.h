// Scaled dot-product attention over ragged batches as a differentiable function (Vaswani et al. 2017,
// arXiv:1706.03762, section 3.2): our kernel for float32 on the CPU, torch's operations elsewhere.
#pragma once

#include "nn/ragged.h"
#include "nn/spec.h"

namespace attend {

// How one call attends, beyond its tensors.
struct AttentionCall {
  AttentionSpec spec;
  double dropout = 0;
  std::uint64_t seed = 0;
  // Not null: receives the weights of each sequence, [heads, Lq, Lk], before dropout.
  std::vector<Tensor>* weights = nullptr;
};

// Queries, keys and values of the same sequences, side by side: packed [T, 3 w], w = heads * head_size.
// `visible`: the rows that may be attended to; null: all. Returns [T, w].
Tensor self_attention(const Tensor& packed, const Offsets& offsets, const VisibleRows* visible,
                      const AttentionCall& call);

// query [Tq, w]; key_value [Tk, 2 w]. `source[b]` is the sequence of key_value that query sequence b reads;
// empty: the same number.
Tensor cross_attention(const Tensor& query, const Offsets& query_offsets, const Tensor& key_value,
                       const Offsets& key_offsets, const std::vector<std::int64_t>& source,
                       const AttentionCall& call);

class PagedCache;
// query [T, w] of the new tokens against everything the cache holds for their sequences in `layer`, the new
// tokens included. No gradient.
Tensor cached_attention(const Tensor& query, const Offsets& offsets, const PagedCache& cache,
                        const std::vector<std::int64_t>& sequences, std::int64_t layer,
                        const AttentionCall& call);

}  // namespace attend
