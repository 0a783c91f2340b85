#include "nn/dropout.h"

#include "kernels/kernels.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

Tensor drop(const Tensor& x, const Tensor& residual, double rate, std::uint64_t seed) {
  const Tensor out = ops::empty_like(x);
  parallel_ranges(x.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
    kernels::kernels().dropout_add(out.data<float>(), x.const_data<float>(),
                                   residual.defined() ? residual.const_data<float>() : nullptr, begin, end,
                                   static_cast<float>(rate), seed);
  });
  return out;
}

// The mask is not kept: backward makes it again from the seed.
struct DropoutFunction : autograd::Function<DropoutFunction> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x,
                        const std::optional<Tensor>& residual, double rate, std::int64_t seed) {
    ctx->saved_data["residual"] = residual.has_value();
    ctx->saved_data["rate"] = rate;
    ctx->saved_data["seed"] = seed;
    return drop(x, residual.value_or(Tensor()), rate, static_cast<std::uint64_t>(seed));
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list gradients) {
    const Tensor dy = gradients[0].contiguous();
    const Tensor dx = drop(dy, {}, ctx->saved_data["rate"].toDouble(),
                           static_cast<std::uint64_t>(ctx->saved_data["seed"].toInt()));
    return {dx, ctx->saved_data["residual"].toBool() ? dy : Tensor(), Tensor(), Tensor()};
  }
};

Tensor dropped(const Tensor& x, const Tensor& residual, double rate, std::uint64_t seed) {
  if (on_kernels(x))
    return DropoutFunction::apply(x.contiguous(),
                                  if_defined(residual.defined() ? residual.contiguous() : residual), rate,
                                  static_cast<std::int64_t>(seed));
  const Tensor kept = drop(ops::ones(x.sizes(), kFloat), {}, rate, seed);  // 0 or 1 / (1 - rate)
  const Tensor y = x * kept.to(x.type());
  return residual.defined() ? y + residual : y;
}

}  // namespace

Tensor seeded_dropout(const Tensor& x, double rate, std::uint64_t seed) {
  return rate == 0 ? x : dropped(x, {}, rate, seed);
}

Tensor dropout_add(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  const double p = pass.rate(rate);
  if (p == 0) return residual.defined() ? x + residual : x;
  return dropped(x, residual, p, pass.next_seed());
}

}  // namespace attend
