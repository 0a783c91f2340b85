// Dropout (Srivastava et al. 2014), with the addition that follows it in every sublayer.
#pragma once

#include "nn/pass/pass.h"
#include "tensor/tensor.h"

namespace attend {

// dropout(x) with a mask that depends only on `seed`, not on the type.
Tensor seeded_dropout(const Tensor& x, double rate, std::uint64_t seed);

// dropout(x) + residual; residual may be undefined. At rate 0 this is a plain addition.
Tensor dropout_add(const Tensor& x, const Tensor& residual, double rate, Pass& pass);

inline Tensor dropout(const Tensor& x, double rate, Pass& pass) {
  return dropout_add(x, {}, rate, pass);
}

}  // namespace attend
