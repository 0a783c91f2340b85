// float16 weights: products equal those of the widened numbers, to the last bit.
#include "kernels/half.h"

#include "kernels/kernels_test.h"

#include <cstring>
#include <string>

namespace attend::kernels {
namespace {

class HalfKernelsTest : public KernelsTest {};

TEST_P(HalfKernelsTest, MultipliesAsTheWidenedMatrix) {
  const HalfKernels& halves = *find_half_kernels(GetParam());
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 9, 70})
    for (const std::int64_t depth : {1, 13, 128, 513, 700})
      for (const std::int64_t columns : {1, 16, 47, 101}) {
        const auto a = random_numbers(rows * depth, 1), b = random_numbers(depth * columns, 2);
        const auto bias = random_numbers(columns, 3);
        const std::int64_t panels = kernels_->panel_count(columns),
                           size = kernels_->packed_size(depth, columns);
        std::vector<std::uint16_t> packed(size, 0x7fff);
        // B is stored [columns, depth].
        halves.pack(packed.data(), b.data(), 1, depth, depth, columns, 0, panels);
        std::vector<float> wide(depth * columns), panels_of_wide(size), column(depth);
        double largest = 0;
        for (std::int64_t j = 0; j < columns; ++j) {
          halves.column(&wide[j * depth], packed.data(), depth, j);
          for (std::int64_t k = 0; k < depth; ++k)
            largest = std::max(largest, std::abs(double{wide[j * depth + k]} / b[j * depth + k] - 1));
        }
        EXPECT_LE(largest, 1.0 / 2048);
        kernels_->pack_panels(panels_of_wide.data(), wide.data(), 1, depth, depth, columns, 0, panels);
        MatrixProduct m;
        m.rows = rows, m.depth = depth, m.columns = columns;
        m.a = a.data(), m.a_row = depth;
        m.b = panels_of_wide.data();
        m.c_row = columns;
        m.bias = bias.data(), m.activation = Activation::gelu;
        std::vector<float> expected(rows * columns, 7), found(rows * columns, -7);
        m.c = expected.data();
        kernels_->multiply(m, 0, rows, 0, panels);
        m.c = found.data();
        halves.multiply(m, packed.data(), 0, rows, 0, panels);
        ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * 4), 0)
            << rows << " x " << depth << " x " << columns;
      }
}

TEST_P(HalfKernelsTest, RoundsToTheNearest) {
  const HalfKernels& halves = *find_half_kernels(GetParam());
  const std::vector<float> b = {1.00048828125f, 1.00146484375f, 1.00390625f, 1.01171875f, -65519.0f, 1e6f};
  const auto depth = static_cast<std::int64_t>(b.size());
  std::vector<std::uint16_t> packed(kernels_->packed_size(depth, 1));
  std::vector<float> found(b.size());
  halves.pack(packed.data(), b.data(), 1, depth, depth, 1, 0, 1);
  halves.column(found.data(), packed.data(), depth, 0);
  EXPECT_EQ(found, (std::vector<float>{1, 1.001953125f, 1.00390625f, 1.01171875f, -65504, INFINITY}));
}

INSTANTIATE_TEST_SUITE_P(Sets, HalfKernelsTest, testing::ValuesIn(instruction_sets),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend::kernels
