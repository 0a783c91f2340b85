// The position-wise feed-forward layer (Vaswani et al. 2017, section 3.3).
#pragma once

#include "nn/linear/linear.h"

namespace attend {

// activation(a) * b of [a | b] [T, 2 width], limited as in the spec: [T, width].
Tensor gate(const Tensor& both, const FeedForwardSpec& spec);

// out(activation(in(x))) + residual, if that is defined, for x [T, d]. If gated, in(x) is [T, 2 d_ff], and
// the activation of the first half is multiplied with the second.
class FeedForwardImpl : public Module {
 public:
  FeedForwardImpl(std::int64_t width, const FeedForwardSpec& spec);
  Tensor forward(const Tensor& x, const Tensor& residual, double dropout, Pass& pass);

 private:
  FeedForwardSpec spec_;
  Linear in_{nullptr}, out_{nullptr};
};
ATTEND_MODULE(FeedForward);

}  // namespace attend
