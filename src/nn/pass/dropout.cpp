#include "nn/pass/dropout.h"

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
