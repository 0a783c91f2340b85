// Products of matrices, and operations that are made of them.
#include "base/parallel.h"
#include "tensor/device.h"
#include "tensor/product.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cmath>

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

// Row by row of C, over rows of B. Not for hot code; tests compare kernels with it.
void multiply_doubles(const Tensor& c, const Tensor& a, const Tensor& b) {
  const Tensor rows = b.contiguous();
  const std::int64_t depth = a.size(1), columns = c.size(1);
  parallel_for(static_cast<std::size_t>(c.size(0)),
               static_cast<std::size_t>(1 + 16384 / std::max<std::int64_t>(1, depth * columns)),
               [&](std::size_t begin, std::size_t end) {
                 std::vector<double> sums(static_cast<std::size_t>(columns));
                 for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
                   std::fill(sums.begin(), sums.end(), 0.0);
                   for (std::int64_t k = 0; k < depth; ++k) {
                     const double factor = a.const_data<double>()[i * a.stride(0) + k * a.stride(1)];
                     const double* const row = rows.const_data<double>() + k * columns;
                     for (std::int64_t j = 0; j < columns; ++j)
                       sums[static_cast<std::size_t>(j)] += factor * row[j];
                   }
                   for (std::int64_t j = 0; j < columns; ++j)
                     c.data<double>()[i * c.stride(0) + j * c.stride(1)] = sums[static_cast<std::size_t>(j)];
                 }
               });
}

// c [m, n] = a [m, k] b [k, n], with rows of c at any stride; on all threads (at_once) or on this one.
void multiply(const Tensor& c, const Tensor& a, const Tensor& b, bool at_once) {
  if (a.size(1) != b.size(0))
    fail("the shapes [{}] and [{}] do not fit a matrix product", fmt::join(a.sizes().vec(), ", "),
         fmt::join(b.sizes().vec(), ", "));
  if (c.numel() == 0) return;
  if (a.size(1) == 0) {
    c.zero_();
    return;
  }
  if (c.type() == kDouble) return multiply_doubles(c, a, b);
  if (b.stride(0) == 0) return multiply(c, a, b.clone(), at_once);
  kernels::MatrixProduct m = product_of(a, c);
  point_at(m, b);
  const std::int64_t panels = kernels::kernels().panel_count(m.columns);
  if (!at_once) return kernels::kernels().multiply(m, 0, m.rows, 0, panels);
  parallel_for(static_cast<std::size_t>(panels),
               static_cast<std::size_t>(1 + 16384 / std::max<std::int64_t>(1, m.rows * m.depth * 3)),
               [&](std::size_t begin, std::size_t end) {
                 kernels::kernels().multiply(m, 0, m.rows, static_cast<std::int64_t>(begin),
                                             static_cast<std::int64_t>(end));
               });
}

// The product of two matrices or of batches of matrices, of one type.
Tensor batched(const Tensor& a, const Tensor& b) {
  const Dimensions left = a.sizes(), right = b.sizes();
  Dimensions shape = broadcast(left.slice(0, left.size() - 2), right.slice(0, right.size() - 2));
  Dimensions whole_a = shape, whole_b = shape, batch = shape;
  for (const std::int64_t d : {a.size(-2), a.size(-1)}) whole_a.push_back(d);
  for (const std::int64_t d : {b.size(-2), b.size(-1)}) whole_b.push_back(d);
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  Device* const device = device_of(a, b);
  const Tensor c = empty(shape, a.type(), device);
  if (device != nullptr) {
    if (a.size(-1) != b.size(-2))
      fail("the shapes [{}] and [{}] do not fit a matrix product", fmt::join(left.vec(), ", "),
           fmt::join(right.vec(), ", "));
    if (a.size(-1) == 0) return zeros_like(c);
    if (c.numel() > 0)
      device->matrix_product(array_of(c), array_of(placed_on(*device, a)), array_of(placed_on(*device, b)));
    return c;
  }
  if (batch.size() == 0) {
    multiply(c, a, b, true);
    return c;
  }
  const auto matrices = [](const Tensor& x) { return x.flatten(0, x.dim() - 3); };
  const Tensor all_a = matrices(a.expand(whole_a)), all_b = matrices(b.expand(whole_b)), all_c = matrices(c);
  const std::int64_t work = a.size(-2) * a.size(-1) * b.size(-1);
  parallel_for(static_cast<std::size_t>(all_c.size(0)),
               static_cast<std::size_t>(1 + 65536 / std::max<std::int64_t>(1, work)),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                   multiply(all_c[i], all_a[i], all_b[i], false);
               });
  return c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) fail("a matrix product needs tensors with dimensions");
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  const ScalarType type = promoted(a.type(), b.type());
  if (a.type() != type || b.type() != type) return matmul(a.to(type), b.to(type));
  // If one matrix multiplies the rows of many matrices, they are rows of one matrix.
  if (a.dim() > 2 && b.dim() == 2 && a.is_contiguous()) {
    Dimensions shape = a.sizes();
    shape[shape.size() - 1] = b.size(1);
    return matmul(a.flatten(0, a.dim() - 2), b).view(shape);
  }
  return with_rule([&] { return batched(a, b); },
                   [&](const Tensor&) {
                     const bool left = needs_gradient(a), right = needs_gradient(b);
                     return [left, right, x = right ? Saved(a) : Saved(),
                             y = left ? Saved(b) : Saved()](const Tensor& g) {
                       return std::vector<Tensor>{left ? matmul(g, y().transpose(-2, -1)) : Tensor(),
                                                  right ? matmul(x().transpose(-2, -1), g) : Tensor()};
                     };
                   },
                   a, b);
}

Tensor mv(const Tensor& a, const Tensor& x) {
  return matmul(a, x);
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

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
              std::int64_t padding, std::int64_t dilation, std::int64_t groups) {
  if (stride != 1 || dilation != 1)
    fail("convolutions of stride {}, dilation {} are not supported", stride, dilation);
  const std::int64_t width = weight.size(1), kernel = weight.size(2), out = weight.size(0) / groups;
  const Tensor padded = with_margins(x, {padding, padding});  // [N, C, L + 2 p]
  const std::int64_t length = padded.size(2) - kernel + 1;
  std::vector<Tensor> texts;
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    std::vector<Tensor> parts;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::vector<Tensor> shifted;  // what each position of the kernel sees
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

// The weights of the four neighbours of a point between the second and the third (Keys 1981, a = -0.75).
std::array<float, 4> cubic(float t) {
  constexpr float a = -0.75f;
  const auto near = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// Along the last dimension, to `size` elements: calls f(index of the result, index of an input, weight).
template <class F>
void for_resampled(std::int64_t length, std::int64_t size, const F& f) {
  const float scale = static_cast<float>(length) / static_cast<float>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * scale - 0.5f, whole = std::floor(place);
    const std::array<float, 4> weights = cubic(place - whole);
    for (std::int64_t k = 0; k < 4; ++k)
      f(i, std::clamp<std::int64_t>(static_cast<std::int64_t>(whole) - 1 + k, 0, length - 1),
        weights[static_cast<std::size_t>(k)]);
  }
}

Tensor resampled(const Tensor& x, std::int64_t size) {
  const std::int64_t length = x.size(-1);
  Dimensions shape = x.sizes();
  shape[shape.size() - 1] = size;
  const auto compute = [&] {
    if (x.device() != nullptr) return resampled(x.home(), size).on(x.device());
    const Tensor from = x.contiguous(), made = zeros(shape, x.type());
    const std::int64_t rows = length > 0 ? from.numel() / length : 0;
    for_resampled(length, size, [&](std::int64_t to, std::int64_t place, float weight) {
      for (std::int64_t row = 0; row < rows; ++row)
        made.data<float>()[row * size + to] += weight * from.const_data<float>()[row * length + place];
    });
    return made;
  };
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [length, size, whole = Dimensions(x.sizes())](const Tensor& g) {
          const Tensor given = g.home().contiguous(), made = zeros(whole, g.type());
          const std::int64_t rows = size > 0 ? given.numel() / size : 0;
          for_resampled(length, size, [&](std::int64_t from, std::int64_t place, float weight) {
            for (std::int64_t row = 0; row < rows; ++row)
              made.data<float>()[row * length + place] +=
                  weight * given.const_data<float>()[row * size + from];
          });
          return std::vector<Tensor>{made};
        };
      },
      x);
}

}  // namespace

Tensor resize_bicubic(const Tensor& x, const Dimensions& size, bool align_corners) {
  if (align_corners) fail("resampling with aligned corners is not supported");
  return resampled(resampled(x, size[1]).transpose(2, 3), size[0]).transpose(2, 3).contiguous();
}

}  // namespace attend::ops
