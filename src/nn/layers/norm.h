// Layer normalization (Ba et al. 2016, arXiv:1607.06450), or root mean square normalization (Zhang & Sennrich
// 2019, arXiv:1910.07467), which subtracts no mean and has no bias.
#pragma once

#include "nn/spec/spec.h"
#include "tensor/tensor.h"

namespace attend {

// x [T, d] -> [T, d].
class LayerNormImpl : public Module {
 public:
  LayerNormImpl(std::int64_t width, const NormSpec& spec);
  Tensor forward(const Tensor& x);

  Tensor weight, bias;  // [d]; no bias with root mean square, or if the spec has none

 private:
  NormSpec spec_;
  Tensor no_bias_;  // zeros, if the mean is subtracted and there is no bias
};
ATTEND_MODULE(LayerNorm);

}  // namespace attend
