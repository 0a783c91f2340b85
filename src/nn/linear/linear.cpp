#include "nn/linear/linear.h"

#include "tensor/parallel.h"
#include "tensor/product.h"

#include <algorithm>
#include <mutex>

namespace attend {
namespace {

using kernels::MatrixProduct;

Tensor plain_activation(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return ops::relu(x);
    case Activation::gelu:
      return ops::gelu(x);
    case Activation::gelu_tanh:
      return ops::gelu(x, "tanh");
    case Activation::silu:
      return ops::silu(x);
    case Activation::tanh:
      return ops::tanh(x);
    case Activation::sigmoid:
      return ops::sigmoid(x);
    case Activation::mish:
      return ops::mish(x);
    case Activation::quick_gelu:
      return x * ops::sigmoid(1.702 * x);
    case Activation::clipped_gelu:
      return ops::clamp(ops::gelu(x), -10, 10);
    case Activation::leaky_relu:
      return ops::leaky_relu(x);
    case Activation::relu6:
      return ops::clamp(x, 0, 6);
    case Activation::squared_relu:
      return ops::square(ops::relu(x));
    case Activation::laplace:  // 1 / sqrt(2) and 1 / sqrt(4 pi), rounded as in transformers
      return 0.5 * (1 + ops::erf((x - 0.707107) / (0.282095 * std::sqrt(2.0))));
  }
  fail("unknown activation {}", static_cast<int>(activation));
}

Tensor kernel_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed,
                     Activation activation, const Tensor& residual) {
  const Tensor y = ops::empty({x.size(0), weight.size(0)}, x.type());
  MatrixProduct m = product_of(x, y);
  Tensor once;  // the weight, packed only for this product
  if (Bfloat16Products::on()) {
    point_at_pairs(m, once = pairs_of(weight.t()));
  } else if (packed != nullptr) {
    m.b = packed->get(weight);
  } else if (few(x.size(0), weight.size(0))) {
    point_at(m, weight.t());
  } else {
    m.b = (once = panels_of(weight.t())).const_data<float>();
  }
  finish_with(m, bias, activation, residual);
  run(m);
  return y;
}

// The same with its gradient rule.
Tensor learned_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed) {
  const auto compute = [&] {
    // No packed copy is kept: training changes the weight before it could be used again.
    return kernel_linear(x, weight, bias, few(x.size(0), weight.size(0)) ? nullptr : packed, Activation::none,
                         {});
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [input = ops::Saved(weight.needs_gradient() ? x : Tensor()), matrix = ops::Saved(weight),
            of_x = needs_gradient(x), of_weight = needs_gradient(weight), of_bias = needs_gradient(bias),
            bfloat16 = Bfloat16Products::on()](const Tensor& gradient) {
      const Bfloat16Products rounded(bfloat16);
      const Tensor dy = gradient.contiguous();  // [T, out]
      Tensor dx, dw, db;
      if (of_x) dx = matrix_product(dy, matrix());          // [T, out] [out, in]
      if (of_weight) dw = matrix_product(dy.t(), input());  // [out, T] [T, in]
      if (of_bias) db = dy.sum(0);
      return std::vector<Tensor>{dx, dw, db};
    };
  };
  return ops::with_rule(compute, rule, x, weight, bias);
}

// x W^T + bias of a packed matrix, next to which an adapter may be trained (QLoRA, arXiv:2305.14314). The
// gradient of x is that of the dequantized matrix; rounding steps in between count as the identity.
Tensor packed_linear(const Tensor& x, const Tensor& bias, const std::shared_ptr<const PackedMatrix>& matrix) {
  const auto compute = [&] { return matrix->multiply(x, bias, Activation::none, {}); };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [matrix, of_x = needs_gradient(x), of_bias = needs_gradient(bias),
            bfloat16 = Bfloat16Products::on()](const Tensor& gradient) {
      const Bfloat16Products rounded(bfloat16);
      const Tensor dy = gradient.contiguous();  // [T, out]
      Tensor dx, db;
      if (of_x) dx = matrix_product(dy, matrix->dequantized());  // [T, out] [out, in]
      if (of_bias) db = dy.sum(0);
      return std::vector<Tensor>{dx, db};
    };
  };
  return ops::with_rule(compute, rule, x, bias);
}

Tensor kernel_activation(const Tensor& x, Activation activation) {
  const auto compute = [&] {
    const Tensor y = ops::empty_like(x);
    parallel_ranges(x.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
      kernels::kernels().activation(activation, y.data<float>(), x.const_data<float>(), begin, end);
    });
    return y;
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [input = ops::Saved(x), activation](const Tensor& gradient) {
      const Tensor &x = input(), dy = gradient.contiguous(), dx = ops::empty_like(x);
      parallel_ranges(x.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
        kernels::kernels().activation_backward(activation, dx.data<float>(), dy.const_data<float>(),
                                               x.const_data<float>(), begin, end);
      });
      return std::vector<Tensor>{dx};
    };
  };
  return ops::with_rule(compute, rule, x);
}

}  // namespace

Tensor activate(const Tensor& x, Activation activation) {
  if (activation == Activation::none) return x;
  if (!on_kernels(x)) return plain_activation(x, activation);
  return kernel_activation(x.contiguous(), activation);
}

const float* PackedWeight::get(const Tensor& weight) {
  static std::mutex packing;  // for any weight: several threads may be the first to use one
  const std::lock_guard lock(packing);
  const std::uint32_t version = weight.version();
  if (!panels_.defined() || source_ != weight.const_data() || version_ != version) {
    panels_ = panels_of(weight.t());
    source_ = weight.const_data();
    version_ = version;
  }
  return panels_.const_data<float>();
}

void PackedWeight::prepare(const Tensor& weight) {
  if (!replacement_ && on_kernels(weight)) get(weight);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed,
              Activation activation, const Tensor& residual) {
  if (packed != nullptr && packed->replacement() != nullptr) {
    if (!recording()) return packed->replacement()->multiply(x, bias, activation, residual);
    const Tensor y = activate(packed_linear(x, bias, packed->replacement()), activation);
    return residual.defined() ? y + residual : y;
  }
  if (!on_kernels(x) || !on_kernels(weight)) {
    Tensor y = plain_activation(ops::linear(x, weight, bias), activation);
    return residual.defined() ? y + residual : y;
  }
  if (!recording()) return kernel_linear(x, weight, bias, packed, activation, residual);
  Tensor y = activate(learned_linear(x, weight, bias, packed), activation);
  return residual.defined() ? y + residual : y;
}

LinearImpl::LinearImpl(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", ops::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", ops::zeros({out}));
}

Tensor LinearImpl::forward(const Tensor& x, Pass& pass, Activation activation, const Tensor& residual) {
  if (adapters.empty()) return linear(x, weight, bias, kept(), activation, residual);
  return adapted_linear(x, {weight, bias, kept(), adapters}, pass, activation, residual);
}

Tensor LinearImpl::with_bias(const Tensor& x, const Tensor& other, Pass& pass) {
  if (adapters.empty()) return linear(x, weight, other, kept());
  return adapted_linear(x, {weight, {}, kept(), adapters}, pass) + other;
}

Tensor LinearImpl::part(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass) {
  const auto& whole = packed_.replacement();
  const auto is_cut = [&](const MatrixAdapter& m) {
    const bool meets = m.first < first + count && m.first + m.count > first;
    return meets && (m.first < first || m.first + m.count > first + count);
  };
  if (whole && std::ranges::any_of(adapters, is_cut))
    return forward(x, pass).narrow(1, first, count).contiguous();
  PackedWeight part;
  if (whole) part.replace(PackedMatrix::part_of(whole, first, count));
  const auto rows = [&](const Tensor& all) { return all.defined() ? all.narrow(0, first, count) : all; };
  return adapted_linear(x, {rows(weight), rows(bias), whole ? &part : nullptr, adapters, first}, pass);
}

void LinearImpl::pack(std::shared_ptr<const PackedMatrix> matrix) {
  packed_.replace(std::move(matrix));
  release(weight);
}

}  // namespace attend
