#include "nn/layers/norm.h"

#include "kernels/kernels.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

// out [T, d]; mean and inverse deviation [T] if the backward pass needs them.
Tensor normalize(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon, Tensor* mean,
                 Tensor* inverse) {
  const std::int64_t rows = x.size(0), d = x.size(1);
  const Tensor out = ops::empty_like(x);
  const float* b = bias.defined() ? bias.const_data<float>() : nullptr;
  if (mean) {
    *mean = ops::empty({rows}, x.type());
    *inverse = ops::empty({rows}, x.type());
  }
  parallel_ranges(rows, 2 * d, [&](std::int64_t begin, std::int64_t end) {
    kernels::kernels().layer_norm(out.data<float>(), x.const_data<float>(), weight.const_data<float>(), b,
                                  begin, end, d, static_cast<float>(epsilon),
                                  mean ? mean->data<float>() : nullptr,
                                  inverse ? inverse->data<float>() : nullptr);
  });
  return out;
}

struct NormGradients {
  Tensor input, weight, bias;
};

NormGradients norm_gradients(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& mean,
                             const Tensor& inverse, bool biased) {
  const std::int64_t rows = x.size(0), d = x.size(1);
  const Tensor dx = ops::empty_like(x);
  // A fixed number of parts with separate sums, so that the result does not depend on the number of threads.
  constexpr std::int64_t kParts = 16;
  const Tensor sums = ops::zeros({biased ? 2 : 1, kParts, d}, x.type());
  parallel_ranges(kParts, 2 * d * rows / kParts, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part)
      kernels::kernels().layer_norm_backward(
          dx.data<float>(), sums.data<float>() + part * d,
          biased ? sums.data<float>() + (kParts + part) * d : nullptr, dy.const_data<float>(),
          x.const_data<float>(), weight.const_data<float>(), mean.const_data<float>(),
          inverse.const_data<float>(), rows * part / kParts, rows * (part + 1) / kParts, d);
  });
  const Tensor total = sums.sum(1);  // [2, d], or [1, d] without a bias
  return {dx, total[0], biased ? total[1] : Tensor()};
}

Tensor learned_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  Tensor mean, inverse;
  const auto compute = [&] { return normalize(x, weight, bias, epsilon, &mean, &inverse); };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [input = ops::Saved(x), factor = ops::Saved(weight), mean, inverse,
            biased = bias.defined()](const Tensor& gradient) {
      const NormGradients d = norm_gradients(gradient.contiguous(), input(), factor(), mean, inverse, biased);
      return std::vector<Tensor>{d.input, d.weight, d.bias};
    };
  };
  return ops::with_rule(compute, rule, x, weight, bias);
}

}  // namespace

LayerNormImpl::LayerNormImpl(std::int64_t width, const NormSpec& spec) : spec_(spec) {
  weight = register_parameter("weight", spec.around_one ? ops::zeros({width}) : ops::ones({width}));
  if (spec.root_mean_square) return;
  if (spec.bias)
    bias = register_parameter("bias", ops::zeros({width}));
  else
    no_bias_ = ops::zeros({width});
}

Tensor LayerNormImpl::forward(const Tensor& x) {
  const Tensor factor = spec_.around_one ? weight + 1 : weight;
  if (!on_kernels(x))
    return spec_.root_mean_square
               ? ops::rms_norm(x, {x.size(-1)}, factor, spec_.epsilon)
               : ops::layer_norm(x, {x.size(-1)}, factor, bias.defined() ? bias : no_bias_, spec_.epsilon);
  const Tensor rows = x.contiguous();
  const Tensor& shift = bias.defined() ? bias : no_bias_;
  if (!recording()) return normalize(rows, factor, shift, spec_.epsilon, nullptr, nullptr);
  return learned_norm(rows, factor, shift, spec_.epsilon);
}

}  // namespace attend
