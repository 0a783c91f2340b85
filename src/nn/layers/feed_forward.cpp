#include "nn/layers/feed_forward.h"

#include "nn/layers/sublayer.h"

namespace attend {

Tensor gate(const Tensor& both, const FeedForwardSpec& spec) {
  const std::vector<Tensor> halves = both.chunk(2, 1);
  Tensor first = halves[0].contiguous(), second = halves[1];
  if (spec.limit > 0) {
    first = first.clamp_max(spec.limit);
    second = second.clamp(-spec.limit, spec.limit);
  }
  if (spec.shift != 0) second = second + spec.shift;
  return activate(first, spec.activation) * second;
}

FeedForwardImpl::FeedForwardImpl(std::int64_t width, const FeedForwardSpec& spec) : spec_(spec) {
  in_ = register_module(
      "in", Linear(width, spec.gated ? 2 * spec.width : spec.width, spec.bias && spec.input_bias));
  out_ = register_module("out", Linear(spec.width, width, spec.bias));
}

Tensor FeedForwardImpl::forward(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  const Tensor inner = spec_.gated ? gate(in_(x, pass), spec_) : in_(x, pass, spec_.activation);  // [T, d_ff]
  return project_add(out_, dropout(inner, spec_.dropout.value_or(0), pass), {residual, rate}, pass);
}

}  // namespace attend
