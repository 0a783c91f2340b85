#include "nn/pass/dropout.h"

#include "kernels/kernels.h"
#include "tensor/parallel.h"
#include "tensor/random.h"

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

// The mask is not stored: the rule computes it again from the seed.
Tensor kernel_dropout(const Tensor& x, const Tensor& residual, double rate, std::uint64_t seed) {
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [rate, seed](const Tensor& gradient) {
      const Tensor dy = gradient.contiguous();
      // The second gradient is not read if there is no residual.
      return std::vector<Tensor>{drop(dy, {}, rate, seed), dy};
    };
  };
  return ops::with_rule([&] { return drop(x, residual, rate, seed); }, rule, x, residual);
}

Tensor dropped(const Tensor& x, const Tensor& residual, double rate, std::uint64_t seed) {
  if (on_kernels(x))
    return kernel_dropout(x.contiguous(), residual.defined() ? residual.contiguous() : residual, rate, seed);
  const Tensor mask = ops::dropout_mask(ops::zeros({1}, kLong), x.numel(), rate, seed, x.device());
  const Tensor y = x * mask.view(x.sizes()).to(x.type());
  return residual.defined() ? y + residual : y;
}

}  // namespace

Tensor attention_dropout(const Tensor& weights, double rate, std::uint64_t seed, const Tensor& rows) {
  if (rate == 0) return weights;
  const std::int64_t heads = weights.size(-3);
  const Tensor first =
      (rows.unsqueeze(-2) * heads + ops::arange(heads).unsqueeze(1)) * (std::int64_t{1} << 24);
  return weights * ops::dropout_mask(first.unsqueeze(-1), weights.size(-1), rate, seed, weights.device())
                       .to(weights.type());  // first: [..., heads, Lq]
}

Tensor dropout_add(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  const double p = pass.rate(rate);
  if (p == 0) return residual.defined() ? x + residual : x;
  return dropped(x, residual, p, pass.next_seed());
}

}  // namespace attend
