#include "nn/transformer/span_search.h"

namespace attend {
namespace {

// linear() takes rows: [..., d] -> [..., n].
template <class Function>
Tensor by_row(const Tensor& x, const Function& function) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  const Tensor rows = function(x.reshape({-1, shape.back()}));
  shape.back() = rows.size(1);
  return rows.reshape(shape);
}

}  // namespace

SpanSearchImpl::SpanSearchImpl(const SpanSearchSpec& spec, std::int64_t width) : spec_(spec) {
  start_ = register_module("start", Linear(width, 1));
  end_in_ = register_module("end_in", Linear(2 * width, width));
  end_norm_ = register_module("end_norm", LayerNorm(width, spec.norm));
  end_out_ = register_module("end_out", Linear(width, 1));
  absent_in_ = register_module("absent_in", Linear(2 * width, width));
  absent_out_ = register_module("absent_out", Linear(width, 1, /*bias=*/false));
}

Tensor SpanSearchImpl::starts(const Tensor& hidden, Pass& pass) {
  return by_row(hidden, [&](const Tensor& x) { return start_(x, pass); }).squeeze(-1);
}

Tensor SpanSearchImpl::ends(const Tensor& hidden, const Tensor& start, Pass& pass) {
  return by_row(
             ops::cat({hidden, start.expand_as(hidden)}, -1),
             [&](const Tensor& x) { return end_out_(end_norm_(end_in_(x, pass, Activation::tanh)), pass); })
      .squeeze(-1);
}

Tensor SpanSearchImpl::absent(const Tensor& start, const Tensor& summary, Pass& pass) {
  return absent_out_(absent_in_(ops::cat({start, summary}, 1), pass, Activation::tanh), pass).squeeze(1);
}

}  // namespace attend
