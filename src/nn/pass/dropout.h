// Dropout (Srivastava et al. 2014), with the addition that follows it in every sublayer.
#pragma once

#include "nn/pass/pass.h"
#include "tensor/tensor.h"

namespace attend {

// dropout(weights) of attention [..., heads, Lq, Lk], with the mask of the kernels (attention_head.h). `rows`
// [..., Lq], int64: the rows of the queries in the batch.
Tensor attention_dropout(const Tensor& weights, double rate, std::uint64_t seed, const Tensor& rows);

// dropout(x) + residual; residual may be undefined. At rate 0 this is a plain addition.
Tensor dropout_add(const Tensor& x, const Tensor& residual, double rate, Pass& pass);

inline Tensor dropout(const Tensor& x, double rate, Pass& pass) {
  return dropout_add(x, {}, rate, pass);
}

}  // namespace attend
