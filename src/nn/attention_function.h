// Scaled dot-product attention over ragged batches as a differentiable function (Vaswani et al. 2017,
// arXiv:1706.03762, section 3.2): our kernel for float32 on the CPU, tensor operations otherwise.
#pragma once

#include "nn/pass.h"
#include "nn/ragged.h"
#include "nn/spec.h"

#include <span>

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
  bool by_key = false;      // rows[zero + key]: the place of the key counts alone
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

class PagedCache;

// Where the keys and values of each sequence come from. w is the width of all queries and kw that of all keys
// (AttentionSpec::width, key_width).
struct KeySource {
  Tensor rows = {};      // [Tk, 2 kw], of as many sequences; undefined: beside the queries, or in `cache`
  Offsets offsets = {};  // of `rows`
  // Not null: all that it holds in `layer` for `sequences`, of which the queries are the last. No gradient.
  const PagedCache* cache = nullptr;
  std::span<const std::int64_t> sequences = {};
  std::int64_t layer = 0;
};

// What queries see of their keys where that is not just what AttentionSpec says.
struct Sight {
  // Which rows are real and may be seen; null: all. Keys that `rows` of the source has before those of the
  // sequence itself are seen by all.
  const VisibleRows* visible = nullptr;
  std::span<const OwnKeys> own = {};  // [B], in place of what the spec says; empty: as it says
};

// The one call of attention. first: [Tq, w], or, where the source says that keys are beside the queries, [T,
// w
// + 2 kw]; in a cache either. Returns [Tq, w].
Tensor attention(const Tensor& first, const Offsets& queries, const KeySource& keys, const Sight& sight,
                 const AttentionCall& call);

}  // namespace attend
