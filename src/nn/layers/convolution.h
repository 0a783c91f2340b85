// A convolution over the tokens of each sequence, parallel to a stack's first layer (ConvolutionSpec in
// spec.h).
#pragma once

#include "nn/layers/norm.h"
#include "nn/pass/pass.h"
#include "nn/pass/ragged.h"

namespace attend {

class ConvolutionImpl : public Module {
 public:
  ConvolutionImpl(std::int64_t width, const ConvolutionSpec& spec);
  // norm(residual + activation(conv(x))) for x and residual [T, d].
  Tensor forward(const Tensor& x, const Tensor& residual, const Offsets& offsets, Pass& pass);

 private:
  ConvolutionSpec spec_;
  Tensor weight_, bias_;  // [d, d / groups, kernel], [d]
  LayerNorm norm_{nullptr};
};
ATTEND_MODULE(Convolution);

}  // namespace attend
