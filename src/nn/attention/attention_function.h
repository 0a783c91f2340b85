// Scaled dot-product attention over ragged batches as a differentiable function (Vaswani et al. 2017,
// arXiv:1706.03762, section 3.2): our kernel for float32 on the CPU, tensor operations otherwise.
#pragma once

#include "nn/pass/pass.h"
#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

#include <span>

namespace attend {

// What distances add to the scores after scaling (kernels.h, DistanceScores): row rows[zero + key - query] of
// each defined table.
struct DistanceTensors {
  Tensor rows;  // [2 longest - 1] int32; undefined: distances add nothing
  std::int64_t zero = 0;
  Tensor of_query, of_key;  // [heads, Tq, R], [heads, Tk, R]
  Tensor of_head;           // [heads, R]
  Tensor of_segment;        // [heads, Tq, 2]: for keys of the query's segment, and for others
  Tensor segment;           // [T] int64, if of_segment is defined
  bool by_key = false;      // rows[zero + key]: only the position of the key counts
};

// bfloat16: kernels::Attention::bfloat16; int8: kernels/int8/attention.h.
enum class Factors { float32, bfloat16, int8 };

// Parameters of one call, in addition to its tensors.
struct AttentionCall {
  AttentionSpec spec;
  double dropout = 0;
  std::uint64_t seed = 0;
  // Not null: receives the weights of each sequence, [heads, Lq, Lk], before dropout.
  std::vector<Tensor>* weights = nullptr;
  DistanceTensors distance = {};
  // Not null: receives the parts of the scores.
  std::vector<ScoreTerms>* scores = nullptr;
  Tensor sinks = {};  // [heads], or undefined: none (AttentionSpec::sinks)
  // The numbers that both products multiply, if the kernels compute them, no gradient is needed and keys are
  // not in a cache (whose format then decides).
  Factors factors = Factors::float32;
};

class PagedCache;

// The source of each sequence's keys and values. w is the width of all queries and kw that of all keys
// (AttentionSpec::width, key_width).
struct KeySource {
  Tensor rows = {};      // [Tk, 2 kw], of the same number of sequences; undefined: next to the queries, or in
                         // `cache`
  Offsets offsets = {};  // of `rows`
  // Not null: all keys and values in `layer` for `sequences`; the queries are the last ones. No gradient.
  const PagedCache* cache = nullptr;
  std::span<const std::int64_t> sequences = {};
  std::int64_t layer = 0;
};

// What queries see of their keys, if it differs from AttentionSpec.
struct Sight {
  // The rows that are real and may be seen; null: all. Keys in `rows` of the source that come before the
  // sequence's own are visible to all.
  const KeyMask* visible = nullptr;
  std::span<const QueryMask> own = {};  // [B], instead of the spec's rules; empty: the spec's rules
};

// The entry point of attention. first: [Tq, w], or [T, w + 2 kw] if keys are next to the queries; with a
// cache either. Returns [Tq, w].
Tensor attention(const Tensor& first, const Offsets& queries, const KeySource& keys, const Sight& sight,
                 const AttentionCall& call);

}  // namespace attend
