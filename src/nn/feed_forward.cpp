#include "nn/feed_forward.h"

#include "nn/sublayer.h"

namespace attend {

FeedForwardImpl::FeedForwardImpl(std::int64_t width, const FeedForwardSpec& spec) : spec_(spec) {
  in_ = register_module("in", Linear(width, spec.width));
  out_ = register_module("out", Linear(spec.width, width));
}

Tensor FeedForwardImpl::forward(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  const Tensor inner = dropout(in_(x, spec_.activation), spec_.dropout, pass);  // [T, d_ff]
  return project_add(out_, inner, residual, rate, pass);
}

}  // namespace attend
