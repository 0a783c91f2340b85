// Relative positions: what a stack knows about how far keys are from queries (spec.h, DistanceSpec), shared
// by all its layers.
#pragma once

#include "nn/norm.h"
#include "nn/spec.h"

namespace attend {

// For one pass: distances are told apart only as far as they can occur in it.
struct DistanceTable {
  Tensor rows;            // [2 longest - 1] int32: for key - query, from -(longest - 1) up, a row of:
  Tensor vectors;         // [R, d], which each attention multiplies with its queries and keys; or
  Tensor of_head;         // [heads, R], a number to be added as it is
  std::int64_t zero = 0;  // where in `rows` key = query stands
};

class DistancesImpl : public torch::nn::Module {
 public:
  // `causal`: keys lie only behind queries.
  DistancesImpl(const DistanceSpec& spec, std::int64_t width, std::int64_t heads, bool causal);
  // For sequences of up to `longest` keys. `like`: a tensor of the pass's type and device.
  DistanceTable forward(std::int64_t longest, const Tensor& like);

 private:
  DistanceSpec spec_;
  std::int64_t width_;
  bool causal_;
  Tensor table_;  // [buckets, heads] or [2 span, d]
  LayerNorm norm_{nullptr};
};
TORCH_MODULE(Distances);

// The row of the table for each of `key_minus_query` (int64), with the papers' authors' own rounding.
Tensor rows_of(const BucketedBias& spec, const Tensor& key_minus_query, bool causal);
Tensor rows_of(const LearnedDistances& spec, const Tensor& key_minus_query);

}  // namespace attend
