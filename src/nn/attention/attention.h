// Multi-head attention as layers: projections around attention_function.h (Vaswani et al. 2017, 3.2.2).
#pragma once

#include "nn/attention/attention_function.h"
#include "nn/attention/distances.h"
#include "nn/attention/rotary.h"
#include "nn/cache/cache.h"
#include "nn/layers/head_norm.h"
#include "nn/layers/sublayer.h"
#include "nn/linear/linear.h"

#include <span>

namespace attend {

// The cached sequences that a pass extends: sequence b of the batch is sequence sequences[b] of the cache.
// With an encoder, sources[b] holds what its cross-attention reads.
struct CacheUse {
  PagedCache* cache = nullptr;
  std::vector<PagedCache::Sequence> sequences, sources = {};
};

// The rows of an attention's input: where the sequences of x begin, which rows may be attended to (null:
// all), the rotary tables (one for each of StackSpec::rotaries), the stack's relative positions (null: none),
// and the token types [T] (undefined: not given).
struct AttentionRows {
  const Offsets& offsets;
  const KeyMask* visible = nullptr;
  const RotaryTables* rotaries = nullptr;
  const DistanceTable* distances = nullptr;
  Tensor types = {};
  // [B, M, d]: this layer's states of earlier segments of the texts; undefined: none.
  Tensor past = {};
  // [B] of [P, 2 kw]: keys and values before those of each sequence (nn/layers/virtual_tokens.h); empty:
  // none.
  std::span<const Tensor> before = {};
};

// f(x) + residual for x [T, d]; queries [w], keys and values [kw each] come from one projection. (w, kw:
// AttentionSpec::width and key_width.)
class SelfAttentionImpl : public Module {
 public:
  SelfAttentionImpl(std::int64_t width, const AttentionSpec& spec);
  // With `cache`, the tokens are appended to `layer` of the cache and attend to everything in it.
  Tensor forward(const Tensor& x, const AttentionRows& rows, const Residual& residual, Pass& pass,
                 const CacheUse* cache, std::int64_t layer, const AttentionCapture& capture);

 private:
  Tensor queries_keys_values(const Tensor& x, const AttentionRows& rows, Pass& pass);  // [T, w + 2 kw]
  DistanceTensors distances(const Tensor& packed, const AttentionRows& rows, Pass& pass);
  // The rows of query_key_value for parts `first` to `first + count - 1` (0: queries, 1: keys, 2: values).
  Tensor project(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass);
  Tensor attend(const Tensor& packed, const AttentionRows& rows, const AttentionCall& call, Pass& pass,
                const CacheUse* cache, std::int64_t layer);  // [T, w]
  std::vector<Tensor> earlier_keys(const AttentionRows& rows, const Tensor& packed, Pass& pass);

  AttentionSpec spec_;
  Linear query_key_value_{nullptr}, output_{nullptr};
  HeadNorm query_norm_{nullptr}, key_norm_{nullptr};
  Tensor query_bias_, value_bias_;  // [w], [kw], if keys have no bias
  Tensor sinks_;                    // [heads], or undefined
  Linear distance_key_{nullptr}, distance_query_{nullptr};
  Tensor distance_vectors_;              // [distances, head_size]: HeadDistances
  Tensor content_bias_, distance_bias_;  // [w], Transformer-XL's u and v
  Tensor segment_bias_, segments_;       // [w], [2, w]: XLNet's s and e
};
ATTEND_MODULE(SelfAttention);

// f(x, encoded) + residual: queries from the decoder, keys and values from the encoder's result.
class CrossAttentionImpl : public Module {
 public:
  CrossAttentionImpl(std::int64_t width, const AttentionSpec& spec);
  // Keys and values of the encoder's result [Ts, d]: [Ts, 2 kw], for any number of calls to forward.
  Tensor project_kv(const Tensor& encoded, Pass& pass) { return key_value_(encoded, pass); }
  const LinearImpl& kv_projection() const { return *key_value_; }
  Tensor forward(const Tensor& x, const Offsets& offsets, const Tensor& key_value, const Offsets& key_offsets,
                 const Residual& residual, Pass& pass, const AttentionCapture& capture);
  // The same with the keys and values of `layer` in the cache for its sources.
  Tensor forward(const Tensor& x, const Offsets& offsets, const CacheUse& cache, std::int64_t layer,
                 const Residual& residual, Pass& pass, const AttentionCapture& capture);

 private:
  AttentionSpec spec_;
  Linear query_{nullptr}, key_value_{nullptr}, output_{nullptr};
};
ATTEND_MODULE(CrossAttention);

}  // namespace attend
