#include "nn/linear/matrix_product.h"

#include "tensor/parallel.h"
#include "tensor/product.h"

#include <utility>

namespace attend {

using kernels::MatrixProduct;

namespace {

thread_local bool rounds_factors = false;

}  // namespace

Tensor panels_of(const Tensor& b) {
  const kernels::Kernels& k = kernels::kernels();
  const std::int64_t depth = b.size(0), columns = b.size(1);
  Tensor packed = ops::empty({k.packed_size(depth, columns)}, kFloat);
  float* const to = packed.data<float>();
  parallel_ranges(k.panel_count(columns), depth * 48, [&](std::int64_t begin, std::int64_t end) {
    k.pack_panels(to, b.const_data<float>(), b.stride(0), b.stride(1), depth, columns, begin, end);
  });
  return packed;
}

Tensor pairs_of(const Tensor& b) {
  const kernels::Kernels& k = kernels::kernels();
  const std::int64_t depth = b.size(0), columns = b.size(1);
  Tensor packed = ops::empty({k.packed_size((depth + 1) / 2, columns)}, kInt);
  auto* const to = reinterpret_cast<std::uint32_t*>(packed.data<std::int32_t>());
  parallel_ranges(k.panel_count(columns), depth * 48, [&](std::int64_t begin, std::int64_t end) {
    k.pack_pairs(to, b.const_data<float>(), b.stride(0), b.stride(1), depth, columns, begin, end);
  });
  return packed;
}

Tensor pairs_of_panels(const float* panels, std::int64_t depth, std::int64_t columns) {
  const kernels::Kernels& k = kernels::kernels();
  const std::int64_t width = k.packed_size(1, 1);
  Tensor packed = ops::empty({k.packed_size((depth + 1) / 2, columns)}, kInt);
  auto* const to = reinterpret_cast<std::uint32_t*>(packed.data<std::int32_t>());
  parallel_ranges(k.panel_count(columns), depth * 48, [&](std::int64_t begin, std::int64_t end) {
    // Within a panel, column j is j % width numbers after the panel's first.
    for (std::int64_t panel = begin; panel < end; ++panel)
      k.pack_pairs(to, panels + panel * width * (depth - 1), width, 1, depth, columns, panel, panel + 1);
  });
  return packed;
}

// Threads take blocks of rows if there are many or if that divides the work better; else panels of columns,
// so that each thread reads its own part of B.
void run(const MatrixProduct& m) {
  constexpr std::int64_t kTile = 8;  // rows
  const kernels::Kernels& k = kernels::kernels();
  const auto multiply = m.pairs ? k.multiply_bfloat16 : k.multiply;
  const std::int64_t panels = k.panel_count(m.columns), tiles = (m.rows + kTile - 1) / kTile;
  const bool packed = m.b_row == 0;  // else each block of rows would pack B again
  // A multiply-add counts as 1/16 of a touched element.
  if (packed && (tiles >= 16 * parallel_threads() || largest_share(tiles) < 0.9 * largest_share(panels))) {
    parallel_ranges(tiles, kTile * m.depth * m.columns / 16, [&](std::int64_t begin, std::int64_t end) {
      multiply(m, begin * kTile, std::min(m.rows, end * kTile), 0, panels);
    });
  } else {
    parallel_ranges(panels, m.rows * m.depth * 3,
                    [&](std::int64_t begin, std::int64_t end) { multiply(m, 0, m.rows, begin, end); });
  }
}

bool few(std::int64_t rows, std::int64_t columns) {
  return rows <= 1024 && kernels::kernels().panel_count(columns) >= 2 * parallel_threads();
}

void point_at_pairs(MatrixProduct& m, const Tensor& pairs) {
  m.pairs = reinterpret_cast<const std::uint32_t*>(pairs.const_data<std::int32_t>());
}

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  if (!on_kernels(a)) return ops::matmul(a, b);
  Tensor c = ops::empty({a.size(0), b.size(1)}, a.type());
  matrix_product(c, a, b, /*add=*/false);
  return c;
}

void matrix_product(const Tensor& c, const Tensor& a, const Tensor& b, bool add) {
  if (!on_kernels(a)) {
    Tensor out = c;
    ops::addmm_out(out, c, a, b, add ? 1 : 0);
    return;
  }
  RightFactor(b, a.size(0)).multiply(c, a, {}, add);
}

RightFactor::RightFactor(const Tensor& b, std::int64_t rows) {
  if (rounds_factors) {
    panels_ = pairs_of(b);
  } else if (few(rows, b.size(1))) {
    b_ = b;
  } else {
    panels_ = panels_of(b);
  }
}

void RightFactor::multiply(const Tensor& c, const Tensor& a, const Tensor& bias, bool add) const {
  if (a.size(1) == 0) {  // an empty sum, for which the kernel would write nothing
    if (!add) bias.defined() ? c.copy_(bias.expand_as(c)) : c.zero_();
    return;
  }
  MatrixProduct m = product_of(a, c);
  m.accumulate = add;
  if (bias.defined()) m.bias = bias.const_data<float>();
  if (b_.defined())
    point_at(m, b_);
  else if (panels_.type() == kInt)
    point_at_pairs(m, panels_);
  else
    m.b = panels_.const_data<float>();
  run(m);
}

Bfloat16Products::Bfloat16Products(bool on) : before_(std::exchange(rounds_factors, on && available())) {}
Bfloat16Products::~Bfloat16Products() {
  rounds_factors = before_;
}
bool Bfloat16Products::available() {
  return kernels::kernels().multiplies_bfloat16;
}
bool Bfloat16Products::on() {
  return rounds_factors;
}

}  // namespace attend
