// Products with matrices of blocks, against the definition in blocks.h.
#include "kernels/int8/blocks.h"

#include "kernels/kernels_test.h"

#include <fmt/format.h>

namespace attend::kernels {
namespace {

struct Kind {
  int lowest, highest;
  bool halves, starts;
};
// Q8_0, Q4_0, Q4_K, Q5_0, Q5_K, Q6_K, Q2_K, Q3_K
const Kind kKinds[] = {{-127, 127, false, false}, {-8, 7, false, false}, {0, 15, false, true},
                       {-16, 15, false, false},   {0, 31, false, true},  {-32, 31, true, false},
                       {0, 3, true, true},        {-4, 3, true, false}};

struct Blocks {
  BlockMatrix m;
  std::vector<float> w, units;  // w [columns][depth]
  std::vector<std::uint8_t> groups;

  Blocks(const Kind& kind, std::int64_t depth, std::int64_t columns) {
    m.depth = depth, m.columns = columns;
    m.bits = block_bits(kind.lowest, kind.highest);
    m.has_halves = kind.halves, m.has_starts = kind.starts;
    m.zero = kind.lowest < -64 ? 128 : -kind.lowest;
    units.resize(int8_panels(columns) * kInt8Panel);
    groups.resize(int8_panels(columns) * m.group_count() * m.group_bytes());
    m.units = units.data(), m.groups = groups.data();
    const std::int64_t each = m.group_count() * m.halves(), size = kBlockGroup / m.halves();
    const std::vector<float> random = plain_numbers(columns * (depth + 2 * each), 3);
    std::size_t next = 0;
    std::vector<float> scales(each), starts(each);
    for (std::int64_t n = 0; n < columns; ++n) {
      for (std::int64_t i = 0; i < each; ++i) {  // float16, as in a file
        scales[i] = std::ldexp(std::nearbyint(random[next++] * 512), -14);
        starts[i] = kind.starts ? std::ldexp(std::nearbyint(random[next++] * 512), -12) : 0;
      }
      const std::size_t first = w.size();
      for (std::int64_t k = 0; k < depth; ++k) {
        const double share = (random[next++] + 2) / 4;
        const int n_k = kind.lowest + static_cast<int>(share * (kind.highest - kind.lowest + 0.999));
        w.push_back(scales[k / size] * static_cast<float>(std::min(n_k, kind.highest)) + starts[k / size]);
      }
      EXPECT_TRUE(pack_blocks(m, n, &w[first], scales.data(), kind.starts ? starts.data() : nullptr));
    }
  }
};

class BlocksTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = find_int8_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine does not have " << GetParam();
  }
  std::vector<float> multiply(const BlockMatrix& m, const std::vector<float>& x, std::int64_t rows,
                              const std::vector<float>& bias = {},
                              Activation activation = Activation::none) const {
    std::vector<float> y(rows * m.columns);
    std::vector<std::uint32_t> scratch(block_scratch(m.depth) / 4 + 1);
    Int8Product p{.rows = rows, .columns = m.columns, .x = x.data(), .x_row = m.depth, .y = y.data()};
    p.y_row = m.columns, p.bias = bias.empty() ? nullptr : bias.data(), p.activation = activation;
    kernels_->multiply_blocks(m, p, 0, rows, 0, int8_panels(m.columns),
                              reinterpret_cast<std::uint8_t*>(scratch.data()));
    return y;
  }
  const Int8Kernels* kernels_ = nullptr;
};

TEST_P(BlocksTest, ColumnsAreExactlyTheFilesNumbers) {
  for (const Kind& kind : kKinds) {
    const Blocks b(kind, 96, 37);
    std::vector<float> column(96);
    for (std::int64_t n = 0; n < 37; ++n) {
      block_column(b.m, n, column.data());
      for (std::int64_t k = 0; k < 96; ++k) ASSERT_EQ(column[k], b.w[n * 96 + k]) << n << ", " << k;
    }
  }
}

// The definition: the row rounded by groups, everything else in double precision.
TEST_P(BlocksTest, MultipliesRowsRoundedByGroups) {
  for (const Kind& kind : kKinds)
    for (const auto& [rows, depth, columns] :
         {std::tuple{1, 32, 16}, {3, 96, 37}, {8, 64, 16}, {70, 160, 50}}) {
      SCOPED_TRACE(fmt::format("{} to {}, {} x {} x {}", kind.lowest, kind.highest, rows, depth, columns));
      const Blocks b(kind, depth, columns);
      const std::vector<float> x = plain_numbers(rows * depth, 5), bias = plain_numbers(columns, 6),
                               y = multiply(b.m, x, rows, bias);
      double worst = 0, size = 0;
      for (int r = 0; r < rows; ++r)
        for (int n = 0; n < columns; ++n) {
          double sum = bias[n];
          for (int g = 0; g < depth; g += 32) {
            float largest = 0;
            for (int k = 0; k < 32; ++k) largest = std::max(largest, std::fabs(x[r * depth + g + k]));
            for (int k = 0; k < 32; ++k) {
              const double q = std::nearbyint(x[r * depth + g + k] * (127.0f / largest));
              sum += q * (largest / 127.0f) * b.w[n * depth + g + k];
            }
          }
          worst = std::max(worst, std::abs(sum - y[r * columns + n]));
          size = std::max(size, std::abs(sum));
        }
      EXPECT_LT(worst, 3e-6 * size);
    }
}

TEST_P(BlocksTest, ARowDoesNotDependOnOthersOrTheInstructionSet) {
  for (const Kind& kind : kKinds) {
    const Blocks b(kind, 96, 37);
    const std::vector<float> x = plain_numbers(11 * 96, 5), y = multiply(b.m, x, 11, {}, Activation::gelu);
    for (int r = 0; r < 11; ++r) {
      const std::vector<float> row(x.begin() + r * 96, x.begin() + (r + 1) * 96),
          own(y.begin() + r * 37, y.begin() + (r + 1) * 37);
      EXPECT_EQ(multiply(b.m, row, 1, {}, Activation::gelu), own);
    }
    const Int8Kernels* const base = find_int8_kernels("avx2");
    if (base == nullptr || std::string_view(GetParam()) == "portable") continue;  // without fused operations
    const Int8Kernels* const mine = std::exchange(kernels_, base);
    EXPECT_EQ(multiply(b.m, x, 11, {}, Activation::gelu), y);
    kernels_ = mine;
  }
}

TEST_P(BlocksTest, NaNStays) {
  const Blocks b(kKinds[2], 64, 16);
  std::vector<float> x = plain_numbers(2 * 64, 5);
  x[40] = INFINITY;
  const std::vector<float> y = multiply(b.m, x, 2);
  for (int n = 0; n < 16; ++n) {
    EXPECT_TRUE(std::isnan(y[n]));
    EXPECT_FALSE(std::isnan(y[16 + n]));
  }
}

TEST_P(BlocksTest, OtherNumbersAreRefused) {
  const Blocks b(kKinds[1], 32, 16);
  std::vector<float> numbers(32, 0.5f);
  const float scale = 0.25f;
  EXPECT_TRUE(pack_blocks(b.m, 0, numbers.data(), &scale, nullptr));
  numbers[3] = 2.25f;  // 9 steps, but 7 is the largest
  EXPECT_FALSE(pack_blocks(b.m, 0, numbers.data(), &scale, nullptr));
  numbers[3] = std::nanf("");
  EXPECT_FALSE(pack_blocks(b.m, 0, numbers.data(), &scale, nullptr));
}

INSTANTIATE_TEST_SUITE_P(Sets, BlocksTest, testing::ValuesIn(int8_sets));

}  // namespace
}  // namespace attend::kernels
