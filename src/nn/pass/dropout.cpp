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
  const Tensor kept = ops::empty(x.sizes(), kFloat);
  kernels::kernels().dropout_mask(kept.data<float>(), 0, kept.numel(), static_cast<float>(rate), seed);
  const Tensor y = x * kept.to(x.type());
  return residual.defined() ? y + residual : y;
}

}  // namespace

Tensor attention_dropout(const Tensor& weights, double rate, std::uint64_t seed, std::int64_t first_query) {
  if (rate == 0) return weights;
  const std::int64_t heads = weights.size(0), queries = weights.size(1), keys = weights.size(2);
  const Tensor kept = ops::empty(weights.sizes(), kFloat);
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t i = 0; i < queries; ++i)
      kernels::kernels().dropout_mask(kept.data<float>() + (head * queries + i) * keys,
                                      static_cast<std::uint64_t>((first_query + i) * heads + head) << 24,
                                      keys, static_cast<float>(rate), seed);
  return weights * kept.to(weights.type());
}

Tensor dropout_add(const Tensor& x, const Tensor& residual, double rate, Pass& pass) {
  const double p = pass.rate(rate);
  if (p == 0) return residual.defined() ? x + residual : x;
  return dropped(x, residual, p, pass.next_seed());
}

}  // namespace attend
