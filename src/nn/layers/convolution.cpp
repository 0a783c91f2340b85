#include "nn/layers/convolution.h"

#include "nn/linear/linear.h"
#include "nn/pass/dropout.h"

namespace attend {

ConvolutionImpl::ConvolutionImpl(std::int64_t width, const ConvolutionSpec& spec) : spec_(spec) {
  weight_ = register_parameter("weight", ops::empty({width, width / spec.groups, spec.kernel}));
  bias_ = register_parameter("bias", ops::zeros({width}));
  norm_ = register_module("norm", LayerNorm(width, spec.norm));
}

Tensor ConvolutionImpl::forward(const Tensor& x, const Tensor& residual, const Offsets& offsets, Pass& pass) {
  std::vector<Tensor> parts;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor channels = offsets.part(x, b).t().unsqueeze(0);  // [1, d, L]
    parts.push_back(
        ops::conv1d(channels, weight_, bias_, 1, (spec_.kernel - 1) / 2, 1, spec_.groups).squeeze(0).t());
  }
  const Tensor mixed = dropout(ops::cat(parts).contiguous(), spec_.dropout, pass);  // [T, d]
  return norm_(residual + activate(mixed, spec_.activation));
}

}  // namespace attend
