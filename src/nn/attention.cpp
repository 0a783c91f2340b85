#include "nn/attention.h"

#include "nn/sublayer.h"

namespace attend {
namespace {

AttentionCall make_call(const AttentionSpec& spec, Pass& pass, std::vector<Tensor>* weights) {
  AttentionCall call{spec, pass.rate(spec.dropout), 0, weights};
  if (call.dropout > 0) call.seed = pass.next_seed();
  return call;
}

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(std::int64_t width, const AttentionSpec& spec) : spec_(spec) {
  const std::int64_t inner = spec.heads * spec.head_size;
  query_key_value_ = register_module("query_key_value", Linear(width, 3 * inner));
  output_ = register_module("output", Linear(inner, width));
}

Tensor SelfAttentionImpl::forward(const Tensor& x, const Offsets& offsets, const Tensor& residual,
                                  double dropout, Pass& pass, const CacheUse* cache, std::int64_t layer,
                                  std::vector<Tensor>* weights) {
  const Tensor packed = query_key_value_(x);  // [T, 3 w]
  const AttentionCall call = make_call(spec_, pass, weights);
  Tensor mixed;  // [T, w]
  if (cache == nullptr) {
    mixed = self_attention(packed, offsets, call);
  } else {
    const std::int64_t w = spec_.heads * spec_.head_size;
    cache->cache->write(layer, cache->sequences, offsets, packed.narrow(1, w, 2 * w));
    mixed = cached_attention(packed.narrow(1, 0, w), offsets, *cache->cache, cache->sequences, layer, call);
  }
  return project_add(output_, mixed, residual, dropout, pass);
}

CrossAttentionImpl::CrossAttentionImpl(std::int64_t width, const AttentionSpec& spec) : spec_(spec) {
  const std::int64_t inner = spec.heads * spec.head_size;
  query_ = register_module("query", Linear(width, inner));
  key_value_ = register_module("key_value", Linear(width, 2 * inner));
  output_ = register_module("output", Linear(inner, width));
}

Tensor CrossAttentionImpl::forward(const Tensor& x, const Offsets& offsets, const Tensor& key_value,
                                   const Offsets& key_offsets, const std::vector<std::int64_t>& source,
                                   const Tensor& residual, double dropout, Pass& pass,
                                   std::vector<Tensor>* weights) {
  const Tensor mixed =
      cross_attention(query_(x), offsets, key_value, key_offsets, source, make_call(spec_, pass, weights));
  return project_add(output_, mixed, residual, dropout, pass);
}

}  // namespace attend
