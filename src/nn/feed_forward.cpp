#include "nn/feed_forward.h"

#include "nn/sublayer.h"

namespace attend {

FeedForwardImpl::FeedForwardImpl(std::int64_t width, const FeedForwardSpec& spec) : spec_(spec) {
  in_ = register_module("in", Linear(width, spec.gated ? 2 * spec.width : spec.width, spec.bias));
  out_ = register_module("out", Linear(spec.width, width, spec.bias));
}

Tensor FeedForwardImpl::forward(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  Tensor inner;  // [T, d_ff]
  if (spec_.gated) {
    const std::vector<Tensor> halves = in_(x, pass).chunk(2, 1);
    inner = activate(halves[0].contiguous(), spec_.activation) * halves[1];
  } else {
    inner = in_(x, pass, spec_.activation);
  }
  return project_add(out_, dropout(inner, spec_.dropout.value_or(0), pass), residual, rate, pass);
}

}  // namespace attend
