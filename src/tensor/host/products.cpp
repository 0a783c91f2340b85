// Products of matrices, and what is made of them.
#include "tensor/host/walk.h"
#include "tensor/product.h"

#include <cmath>

#include <fmt/ranges.h>

namespace attend::host {
namespace {

template <class T>
void multiply_plain(const Tensor& c, const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < c.size(0); ++i)
    for (std::int64_t j = 0; j < c.size(1); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.size(1); ++k)
        sum += static_cast<double>(a.const_data_ptr<T>()[i * a.stride(0) + k * a.stride(1)]) *
               static_cast<double>(b.const_data_ptr<T>()[k * b.stride(0) + j * b.stride(1)]);
      c.data_ptr<T>()[i * c.stride(0) + j * c.stride(1)] = static_cast<T>(sum);
    }
}

// c [m, n], whose rows lie anywhere, = a [m, k] b [k, n].
void multiply(const Tensor& c, const Tensor& a, const Tensor& b) {
  if (a.size(1) != b.size(0))
    fail("[{}] and [{}] are no factors of a product", fmt::join(a.sizes().vec(), ", "),
         fmt::join(b.sizes().vec(), ", "));
  if (c.numel() == 0) return;
  if (a.size(1) == 0) {
    c.zero_();
    return;
  }
  if (c.scalar_type() == kDouble) return multiply_plain<double>(c, a, b);
  if (b.stride(0) == 0) return multiply(c, a, b.clone());
  kernels::MatrixProduct m = product_of(a, c);
  point_at(m, b);
  kernels::kernels().multiply(m, 0, m.rows, 0, kernels::kernels().panel_count(m.columns));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) fail("a product of matrices needs dimensions");
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  const IntArrayRef left = a.sizes(), right = b.sizes();
  Dimensions shape = broadcast(left.slice(0, left.size() - 2), right.slice(0, right.size() - 2));
  Dimensions whole_a = shape, whole_b = shape, batch = shape;
  for (const std::int64_t d : {a.size(-2), a.size(-1)}) whole_a.push_back(d);
  for (const std::int64_t d : {b.size(-2), b.size(-1)}) whole_b.push_back(d);
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  const ScalarType type = promoted(a.scalar_type(), b.scalar_type());
  const Tensor c = empty(shape, type);
  if (batch.size() == 0) {
    multiply(c, a.to(type), b.to(type));
    return c;
  }
  const auto matrices = [](const Tensor& x) { return x.flatten(0, x.dim() - 3); };
  const Tensor all_a = matrices(a.to(type).expand(whole_a)), all_b = matrices(b.to(type).expand(whole_b)),
               all_c = matrices(c);
  for (std::int64_t i = 0; i < all_c.size(0); ++i) multiply(all_c[i], all_a[i], all_b[i]);
  return c;
}

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Tensor product = matmul(a, b) * alpha;
  return beta.to<double>() == 0 ? product : product + c * beta;
}

void addmm_out(Tensor& out, const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta) {
  out.copy_(addmm(c, a, b, beta));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = matmul(x, weight.t());
  return bias.defined() ? y + bias : y;
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor&, bool) {
  fail("singular values are computed by the part of attend that trains");
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
              std::int64_t padding, std::int64_t dilation, std::int64_t groups) {
  if (stride != 1 || dilation != 1)
    fail("convolutions of stride {}, dilation {} are not there", stride, dilation);
  const std::int64_t width = weight.size(1), kernel = weight.size(2), out = weight.size(0) / groups;
  const Tensor padded = constant_pad_nd(x, {padding, padding});  // [N, C, L + 2 p]
  const std::int64_t length = padded.size(2) - kernel + 1;
  std::vector<Tensor> texts;
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    std::vector<Tensor> parts;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::vector<Tensor> shifted;  // what each place of the kernel sees
      for (std::int64_t k = 0; k < kernel; ++k)
        shifted.push_back(padded[n].narrow(0, g * width, width).narrow(1, k, length));
      const Tensor seen = stack(shifted, 1).flatten(0, 1);  // [C * kernel, L]
      parts.push_back(matmul(weight.narrow(0, g * out, out).flatten(1, 2), seen));
    }
    texts.push_back(cat(parts));
  }
  return stack(texts) + bias.unsqueeze(1);
}

Tensor pixel_shuffle(const Tensor& x, std::int64_t by) {
  const std::int64_t batch = x.size(0), channels = x.size(1) / (by * by), rows = x.size(2),
                     columns = x.size(3);
  return x.reshape({batch, channels, by, by, rows, columns})
      .permute({0, 1, 4, 2, 5, 3})
      .contiguous()
      .view({batch, channels, rows * by, columns * by});
}

namespace {

// The weights of the four neighbours of a place between the second and the third (Keys 1981, a = -0.75).
std::array<float, 4> cubic(float t) {
  constexpr float a = -0.75f;
  const auto near = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// Along the last dimension, to `size` places.
Tensor resampled(const Tensor& x, std::int64_t size) {
  const std::int64_t length = x.size(-1);
  Dimensions shape = x.sizes();
  shape[shape.size() - 1] = size;
  const Tensor from = x.contiguous(), made = empty(shape, x.scalar_type());
  const float scale = static_cast<float>(length) / static_cast<float>(size);
  const std::int64_t rows = length > 0 ? from.numel() / length : 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * scale - 0.5f, whole = std::floor(place);
    const std::array<float, 4> weights = cubic(place - whole);
    for (std::int64_t row = 0; row < rows; ++row) {
      float sum = 0;
      for (std::int64_t k = 0; k < 4; ++k)
        sum += weights[static_cast<std::size_t>(k)] *
               from.const_data_ptr<float>()[row * length +
                                            std::clamp<std::int64_t>(static_cast<std::int64_t>(whole) - 1 + k,
                                                                     0, length - 1)];
      made.data_ptr<float>()[row * size + i] = sum;
    }
  }
  return made;
}

}  // namespace

Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef size, bool align_corners) {
  if (align_corners) fail("resampling with aligned corners is not there");
  return resampled(resampled(x, size[1]).transpose(2, 3), size[0]).transpose(2, 3).contiguous();
}

}  // namespace attend::host
