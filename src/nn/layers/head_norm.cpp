#include "nn/layers/head_norm.h"

namespace attend {

HeadNormImpl::HeadNormImpl(std::int64_t heads, std::int64_t head_size, const QueryKeyNorm& spec)
    : heads_(heads), of_(spec.of) {
  const std::int64_t width = of_ == QueryKeyNorm::Of::projections ? heads * head_size : head_size;
  norm_ = LayerNorm(width, spec.norm);
  if (of_ == QueryKeyNorm::Of::own_heads) {  // the norm's own factors stay 1; the real factors are applied
                                             // after it
    weight_ = register_parameter("weight", ops::ones({heads * head_size}));
    return;
  }
  register_module("norm", norm_);
}

Tensor HeadNormImpl::forward(const Tensor& x) {
  if (of_ == QueryKeyNorm::Of::projections) return norm_(x);
  const Tensor normed = norm_(x.reshape({x.size(0) * heads_, x.size(1) / heads_})).view(x.sizes());
  return weight_.defined() ? normed * weight_ : normed;
}

}  // namespace attend
