#include "nn/head_products.h"

#include "nn/linear.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

Tensor part(const Tensor& x, std::int64_t heads, std::int64_t head) {
  const std::int64_t D = x.size(1) / heads;
  return x.narrow(1, head * D, D);
}

Tensor multiply(const Tensor& a, const Tensor& b, std::int64_t heads) {
  const Tensor out = ops::empty({heads, a.size(0), b.size(0)}, a.type());
  for (std::int64_t h = 0; h < heads; ++h)
    matrix_product(out[h], part(a, heads, h), part(b, heads, h).t(), /*add=*/false);
  return out;
}

struct HeadProducts : autograd::Function<HeadProducts> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& a, const Tensor& b,
                        std::int64_t heads) {
    ctx->save_for_backward({a, b});
    ctx->saved_data["bfloat16"] = Bfloat16Products::on();
    return multiply(a, b, heads);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Bfloat16Products rounded(ctx->saved_data["bfloat16"].toBool());
    const Tensor &a = saved[0], &b = saved[1];
    const Tensor dout = gradients[0].contiguous();  // [heads, T, R]
    const std::int64_t heads = dout.size(0);
    const Tensor da = ops::empty(a.sizes(), a.type()), db = ops::empty(b.sizes(), b.type());
    for (std::int64_t h = 0; h < heads; ++h) {
      matrix_product(part(da, heads, h), dout[h], part(b, heads, h), /*add=*/false);
      matrix_product(part(db, heads, h), dout[h].t(), part(a, heads, h), /*add=*/false);
    }
    return {da, db, Tensor()};
  }
};

}  // namespace

Tensor head_products(const Tensor& a, const Tensor& b, std::int64_t heads) {
  if (!on_kernels(a)) {
    const auto split = [&](const Tensor& x) {
      return x.reshape({x.size(0), heads, x.size(1) / heads}).transpose(0, 1);  // [heads, n, D]
    };
    return ops::matmul(split(a), split(b).transpose(1, 2));
  }
  if (!recording()) return multiply(a, b, heads);
  return HeadProducts::apply(a, b, heads);
}

}  // namespace attend
