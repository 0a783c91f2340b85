// Weights in 4 bits represent 8-bit integers: every instruction set gives the same results as the portable
// code with those integers, to the last bit.
#include "kernels/int8/int4.h"

#include "kernels/kernels_test.h"

#include <cstring>
#include <limits>
#include <string>

namespace attend::kernels {
namespace {

struct Packed {
  std::vector<std::uint8_t> numbers, steps;
  std::vector<std::int8_t> starts;
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  Int4Matrix matrix;
};

Packed pack(const Int8Kernels& kernels, const std::vector<float>& w, std::int64_t depth, std::int64_t columns,
            bool transposed = false, bool rotated = false) {
  const std::int64_t places = int8_panels(columns) * kInt8Panel, groups = int4_groups(depth);
  Packed p;
  p.numbers.assign(int4_size(depth, columns), 0x77);
  p.steps.assign(places * groups, 77);
  p.starts.assign(places * groups, 77);
  p.scales.assign(places, 77);
  p.sums.assign(places, 77);
  p.matrix = {depth,           columns,         p.numbers.data(), p.steps.data(),
              p.starts.data(), p.scales.data(), p.sums.data(),    rotated};
  std::vector<float> scratch(17 * 32 * groups);
  kernels.pack_int4(p.matrix, w.data(), transposed ? 1 : depth, transposed ? columns : 1, 0,
                    int8_panels(columns), scratch.data());
  return p;
}

// The same integers, one byte each.
struct Bytes {
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> sums;
  Int8Matrix matrix;
};

Bytes bytes_of(Packed& p) {
  const std::int64_t depth = p.matrix.depth, columns = p.matrix.columns;
  Bytes b;
  b.weights.assign(int8_size(depth, columns), 0);
  b.sums.assign(p.sums.size(), 0);
  b.matrix = {depth, columns, b.weights.data(), p.scales.data(), b.sums.data(), p.matrix.rotated};
  Int4Matrix as_it_lies = p.matrix;
  as_it_lies.rotated = false;
  std::vector<float> column(depth);
  for (std::int64_t n = 0; n < columns; ++n) {
    int4_column(as_it_lies, n, column.data());
    for (std::int64_t k = 0; k < depth; ++k) {
      const int integer = static_cast<int>(std::nearbyint(column[k] / p.scales[n]));
      EXPECT_LE(std::abs(integer), 127);
      b.weights[b.matrix.place(n, k / 4) + k % 4] = static_cast<std::int8_t>(integer);
      b.sums[n] += integer;
    }
  }
  return b;
}

class Int4KernelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = find_int8_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  const Int8Kernels& portable() { return *find_int8_kernels("portable"); }
  const Int8Kernels* kernels_ = nullptr;
};

TEST_P(Int4KernelsTest, PacksToTheSameBits) {
  for (const auto& [depth, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {40, 17}, {97, 48}}) {
    const auto w = random_numbers(columns * depth, 2);
    std::vector<float> transposed(w.size());
    for (std::int64_t n = 0; n < columns; ++n)
      for (std::int64_t k = 0; k < depth; ++k) transposed[k * columns + n] = w[n * depth + k];
    const Packed p = pack(*kernels_, w, depth, columns), q = pack(portable(), w, depth, columns),
                 t = pack(*kernels_, transposed, depth, columns, true);
    for (const Packed* other : {&q, &t}) {
      EXPECT_EQ(p.numbers, other->numbers);
      EXPECT_EQ(p.steps, other->steps);
      EXPECT_EQ(p.starts, other->starts);
      EXPECT_EQ(p.scales, other->scales);
      EXPECT_EQ(p.sums, other->sums);
    }
  }
}

// A group spans at most 15 steps, and no number is farther than one step from a step.
TEST_P(Int4KernelsTest, KeepsWeightsToHalfAStep) {
  const std::int64_t depth = 130, columns = 33;
  auto w = random_numbers(columns * depth, 2);
  for (std::int64_t k = 0; k < depth; ++k) w[k] = k == 3 ? 100.0f : w[k];  // small compared with the largest
  const Packed p = pack(*kernels_, w, depth, columns);
  std::vector<float> column(depth);
  double error = 0, all = 0;
  for (std::int64_t n = 0; n < columns; ++n) {
    int4_column(p.matrix, n, column.data());
    for (std::int64_t k = 0; k < depth; ++k) {
      const float step = p.steps[(n / 16 * int4_groups(depth) + k / 32) * 16 + n % 16] * p.scales[n];
      EXPECT_LE(std::abs(column[k] - w[n * depth + k]), step * 2.01f) << n << " " << k;
      if (n == 0) continue;
      error += std::pow(column[k] - w[n * depth + k], 2);
      all += std::pow(w[n * depth + k], 2);
    }
  }
  EXPECT_LT(std::sqrt(error / all), 0.09);
}

// As in int8_test.cpp.
TEST_P(Int4KernelsTest, GivesTheBitsOfOtherMachines) {
  const std::int64_t depth = 771, columns = 83;
  const auto w = plain_numbers(columns * depth, 1);
  const Packed p = pack(*kernels_, w, depth, columns, false, /*rotated=*/true);
  std::vector<std::uint32_t> scratch(int4_scratch(depth) / 4 + 1);
  std::vector<float> all;
  for (const std::int64_t rows : {1, 6, 70}) {
    const auto x = plain_numbers(rows * depth, 3);
    std::vector<float> y(rows * columns);
    Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth};
    m.y = y.data(), m.y_row = columns, m.activation = Activation::silu;
    kernels_->multiply_int4(p.matrix, m, 0, rows, 0, int8_panels(columns),
                            reinterpret_cast<std::uint8_t*>(scratch.data()));
    all.insert(all.end(), y.begin(), y.end());
  }
  EXPECT_EQ(hash_of(all), 9924887511206093084u);
}

TEST_P(Int4KernelsTest, MultipliesTheQuantizedIntegers) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 70})
    for (const std::int64_t depth : {1, 31, 64, 130, 515})
      for (const std::int64_t columns : {1, 16, 49, 101}) {
        const auto x = random_numbers(rows * depth, 1, 3), w = random_numbers(columns * depth, 2),
                   bias = random_numbers(columns, 3), residual = random_numbers(rows * columns, 4);
        Packed p = pack(*kernels_, w, depth, columns, false, rows % 2 == 0);
        const Bytes b = bytes_of(p);
        Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth, .bias = bias.data()};
        m.activation = Activation::gelu, m.residual = residual.data(), m.residual_row = columns;
        std::vector<float> found(rows * columns, -7), expected(rows * columns, 7);
        std::vector<std::uint32_t> scratch(int4_scratch(depth) / 4 + 1);
        auto* const room = reinterpret_cast<std::uint8_t*>(scratch.data());
        m.y_row = columns, m.y = expected.data();
        portable().multiply(b.matrix, m, 0, rows, 0, int8_panels(columns), room);
        m.y = found.data();
        kernels_->multiply_int4(p.matrix, m, 0, rows, 0, int8_panels(columns), room);
        ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * 4), 0)
            << rows << " x " << depth << " x " << columns;
      }
}

TEST_P(Int4KernelsTest, NonFiniteNumbersGiveNaN) {
  const std::int64_t depth = 40;
  std::vector<float> w(2 * depth, 0.0f);
  w[3] = std::numeric_limits<float>::infinity();
  const Packed p = pack(*kernels_, w, depth, 2);
  std::vector<float> column(depth);
  int4_column(p.matrix, 0, column.data());
  EXPECT_TRUE(std::isnan(column[0]));
  int4_column(p.matrix, 1, column.data());
  for (const float x : column) EXPECT_EQ(x, 0);
}

INSTANTIATE_TEST_SUITE_P(Sets, Int4KernelsTest, testing::ValuesIn(int8_sets),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend::kernels
