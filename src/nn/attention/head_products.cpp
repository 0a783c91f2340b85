#include "nn/attention/head_products.h"

#include "nn/linear/linear.h"
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

// The gradients of a and b, from that of the products, [heads, T, R].
std::vector<Tensor> factor_gradients(const Tensor& a, const Tensor& b, const Tensor& dout) {
  const std::int64_t heads = dout.size(0);
  const Tensor da = ops::empty(a.sizes(), a.type()), db = ops::empty(b.sizes(), b.type());
  for (std::int64_t h = 0; h < heads; ++h) {
    matrix_product(part(da, heads, h), dout[h], part(b, heads, h), /*add=*/false);
    matrix_product(part(db, heads, h), dout[h].t(), part(a, heads, h), /*add=*/false);
  }
  return {da, db};
}

}  // namespace

Tensor head_products(const Tensor& a, const Tensor& b, std::int64_t heads) {
  if (!on_kernels(a)) {
    const auto split = [&](const Tensor& x) {
      return x.reshape({x.size(0), heads, x.size(1) / heads}).transpose(0, 1);  // [heads, n, D]
    };
    return ops::matmul(split(a), split(b).transpose(1, 2));
  }
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [a = ops::Saved(a), b = ops::Saved(b), bfloat16 = Bfloat16Products::on()](const Tensor& gradient) {
      const Bfloat16Products rounded(bfloat16);
      return factor_gradients(a(), b(), gradient.contiguous());
    };
  };
  return ops::with_rule([&] { return multiply(a, b, heads); }, rule, a, b);
}

}  // namespace attend
