// Relative positions: what a stack learns about distances between keys and queries (DistanceSpec in spec.h).
// All its layers share it.
#pragma once

#include "nn/layers/norm.h"
#include "nn/spec/spec.h"

namespace attend {

// For one pass: only distances that can occur in it have rows.
struct DistanceTable {
  Tensor rows;            // [2 longest - 1] int32: for key - query, from -(longest - 1) up, a row of:
  Tensor vectors;         // [R, d], which each attention multiplies with its queries and keys; or
  Tensor of_head;         // [heads, R], a number that is added directly
  std::int64_t zero = 0;  // index in `rows` of key = query
  // If each attention has its own vectors: the rows of its table that can occur.
  std::int64_t first = 0, count = 0;
  bool by_key = false;                 // the position of the key counts, not its distance from the query
  Tensor content_bias, distance_bias;  // [w]: u and v for all layers; undefined: each layer has its own
};

class DistancesImpl : public Module {
 public:
  // `attention`: of every layer. If it is causal, keys are never after queries.
  DistancesImpl(const DistanceSpec& spec, std::int64_t width, const AttentionSpec& attention);
  // For sequences of up to `longest` keys. `like`: a tensor with the pass's type. `ahead`: causal attention
  // also meets keys after its queries, because padding that would see nothing sees everything
  // (AttentionQuirks::padding_sees_all). An Error if sequences are longer than there are vectors for.
  DistanceTable forward(std::int64_t longest, const Tensor& like, bool ahead);

 private:
  DistanceSpec spec_;
  std::int64_t width_, heads_;
  bool causal_;
  Tensor table_;                         // [buckets, heads] or [2 span, d]
  Tensor content_bias_, distance_bias_;  // [w], u and v for all layers
  LayerNorm norm_{nullptr};
};
ATTEND_MODULE(Distances);

// The row of the table for each of `key_minus_query` (int64), rounded as in the papers' original code.
Tensor rows_of(const BucketedBias& spec, const Tensor& key_minus_query, bool causal);
Tensor rows_of(const LearnedDistances& spec, const Tensor& key_minus_query);
Tensor rows_of(const HeadDistances& spec, const Tensor& key_minus_query);

}  // namespace attend
