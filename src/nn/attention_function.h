// Scaled dot-product attention over ragged batches as a differentiable function (Vaswani et al. 2017,
// arXiv:1706.03762, section 3.2): our kernel for float32 on the CPU, tensor operations otherwise.
#pragma once

#include "nn/pass.h"
#include "nn/ragged.h"
#include "nn/spec.h"

namespace attend {

// What distances add to the scores, behind the scale (kernels.h, DistanceScores): row rows[zero + key -
// query] of each table that is defined.
struct DistanceTensors {
  Tensor rows;  // [2 longest - 1] int32; undefined: distances add nothing
  std::int64_t zero = 0;
  Tensor of_query, of_key;  // [heads, Tq, R], [heads, Tk, R]
  Tensor of_head;           // [heads, R]
  Tensor of_segment;        // [heads, Tq, 2]: for keys of the query's segment and for others
  Tensor segment;           // [T] int64, if of_segment is defined
};

// How one call attends, beyond its tensors.
struct AttentionCall {
  AttentionSpec spec;
  double dropout = 0;
  std::uint64_t seed = 0;
  // Not null: receives the weights of each sequence, [heads, Lq, Lk], before dropout.
  std::vector<Tensor>* weights = nullptr;
  DistanceTensors distance = {};
  // Not null: receives how they came about.
  std::vector<FormedScores>* scores = nullptr;
  Tensor sinks = {};  // [heads], or undefined: none (AttentionSpec::sinks)
  // Both products of integers (kernels/int8/int8.h), where our kernels compute and no gradient is wanted.
  bool in_int8 = false;
};

// Below, w is the width of all queries and kw that of all keys (AttentionSpec::width, key_width).

// Queries, keys and values of the same sequences, side by side: packed [T, w + 2 kw].
// `visible`: the rows that may be attended to; null: all. Returns [T, w].
Tensor self_attention(const Tensor& packed, const Offsets& offsets, const VisibleRows* visible,
                      const AttentionCall& call);

// query [Tq, w]; key_value [Tk, 2 kw], of as many sequences.
Tensor cross_attention(const Tensor& query, const Offsets& query_offsets, const Tensor& key_value,
                       const Offsets& key_offsets, const AttentionCall& call);

// As cross_attention between sequences of the same number, where each query sees keys of its own
// (own[b].penalty).
Tensor masked_attention(const Tensor& query, const Offsets& query_offsets, const Tensor& key_value,
                        const Offsets& key_offsets, const std::vector<OwnKeys>& own,
                        const AttentionCall& call);

class PagedCache;
// query [T, w] of the new tokens against everything the cache holds for their sequences in `layer`, the new
// tokens included. No gradient.
Tensor cached_attention(const Tensor& query, const Offsets& offsets, const PagedCache& cache,
                        const std::vector<std::int64_t>& sequences, std::int64_t layer,
                        const AttentionCall& call);

}  // namespace attend
