#include "nn/norm.h"

#include "kernels/kernels.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

// out [T, d]; mean and inverse deviation [T] when the backward pass will want them.
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

struct LayerNormFunction : autograd::Function<LayerNormFunction> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& maybe_bias, double epsilon) {
    Tensor mean, inverse;
    Tensor out = normalize(x, weight, maybe_bias.value_or(Tensor()), epsilon, &mean, &inverse);
    ctx->saved_data["biased"] = maybe_bias.has_value();
    ctx->save_for_backward({x, weight, mean, inverse});
    return out;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor dy = gradients[0].contiguous();
    const std::int64_t rows = x.size(0), d = x.size(1);
    const Tensor dx = ops::empty_like(x);
    // A fixed number of parts, each with sums of its own, so that the result does not depend on the threads.
    constexpr std::int64_t kParts = 16;
    const bool biased = ctx->saved_data["biased"].toBool();
    const Tensor sums = ops::zeros({biased ? 2 : 1, kParts, d}, x.type());
    parallel_ranges(kParts, 2 * d * rows / kParts, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part)
        kernels::kernels().layer_norm_backward(
            dx.data<float>(), sums.data<float>() + part * d,
            biased ? sums.data<float>() + (kParts + part) * d : nullptr, dy.const_data<float>(),
            x.const_data<float>(), weight.const_data<float>(), saved[2].const_data<float>(),
            saved[3].const_data<float>(), rows * part / kParts, rows * (part + 1) / kParts, d);
    });
    const Tensor total = sums.sum(1);  // [2, d], or [1, d] without a bias
    return {dx, total[0], biased ? total[1] : Tensor(), Tensor()};
  }
};

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
    return spec_.root_mean_square ? x * ops::rsqrt(x.square().mean(-1, true) + spec_.epsilon) * factor
                                  : ops::layer_norm(x, {x.size(-1)}, factor, bias, spec_.epsilon);
  const Tensor rows = x.contiguous();
  const Tensor& shift = bias.defined() ? bias : no_bias_;
  if (!recording()) return normalize(rows, factor, shift, spec_.epsilon, nullptr, nullptr);
  return LayerNormFunction::apply(rows, factor, if_defined(shift), spec_.epsilon);
}

}  // namespace attend
