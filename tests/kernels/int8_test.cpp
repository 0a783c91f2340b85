// Every instruction set of this machine against the definition and, to the last bit, against each other.
#include "kernels/int8/int8.h"

#include "kernels/kernels_test.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace attend::kernels {
namespace {

struct Packed {
  std::vector<std::int8_t> weights;
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  Int8Matrix matrix;
};

Packed pack(const Int8Kernels& kernels, const std::vector<float>& w, std::int64_t depth, std::int64_t columns,
            bool transposed = false, bool rotated = false) {
  Packed p;
  p.weights.assign(int8_size(depth, columns), 55);
  p.scales.assign(int8_panels(columns) * kInt8Panel, -1);
  p.sums.assign(int8_panels(columns) * kInt8Panel, -1);
  p.matrix = {depth, columns, p.weights.data(), p.scales.data(), p.sums.data(), rotated};
  std::vector<float> scratch(16 * depth);
  kernels.pack(p.matrix, w.data(), transposed ? 1 : depth, transposed ? columns : 1, 0, int8_panels(columns),
               scratch.data());
  return p;
}

// As the header defines it: the integers, and the scale in `scale`.
std::vector<int> quantized(const float* x, std::int64_t count, float& scale) {
  float largest = 0;
  for (std::int64_t k = 0; k < count; ++k) largest = std::max(largest, std::abs(x[k]));
  scale = largest / 127.0f;
  std::vector<int> q;
  for (std::int64_t k = 0; k < count; ++k)
    q.push_back(static_cast<int>(std::nearbyint(x[k] * (127.0f / largest))));
  return q;
}

std::vector<float> multiplied(const Int8Kernels& kernels, const Packed& p, Int8Product m,
                              std::int64_t row_begin, std::int64_t row_end) {
  std::vector<std::uint8_t> scratch(int8_scratch(p.matrix.depth));
  std::vector<float> y(m.rows * m.columns, -7.5f);
  m.y = y.data(), m.y_row = m.columns;
  kernels.multiply(p.matrix, m, row_begin, row_end, 0, int8_panels(m.columns), scratch.data());
  return {y.begin() + row_begin * m.y_row, y.begin() + row_end * m.y_row};
}

class Int8KernelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = find_int8_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  const Int8Kernels& portable() { return *find_int8_kernels("portable"); }
  const Int8Kernels* kernels_ = nullptr;
};

TEST_P(Int8KernelsTest, IsTheSetItsNameSays) {
  EXPECT_EQ(std::string(kernels_->name), GetParam());
}

TEST_P(Int8KernelsTest, QuantizesNumbersAsItsHeaderSays) {
  for (const std::int64_t count : {1, 3, 4, 7, 16, 20, 33, 64, 100}) {
    auto x = random_numbers(count, 5, 3);
    std::vector<std::int8_t> found(count + 1, 99);
    float scale = 0;
    const std::vector<int> wanted = quantized(x.data(), count, scale);
    EXPECT_EQ(kernels_->quantize(found.data(), x.data(), count), scale);
    EXPECT_EQ(std::vector<int>(found.begin(), found.end() - 1), wanted) << count;
    EXPECT_EQ(found.back(), 99);  // nothing after them is written
    x.back() = NAN;
    EXPECT_TRUE(std::isnan(kernels_->quantize(found.data(), x.data(), count)));
  }
}

TEST_P(Int8KernelsTest, MultipliesIntegersExactly) {
  for (const std::int64_t rows : {1, 2, 3, 5, 7, 8, 9, 65, 130})
    for (const std::int64_t depth : {1, 3, 13, 64, 130, 515})
      for (const std::int64_t columns : {1, 16, 31, 48, 101}) {
        const auto x = random_numbers(rows * depth, 1, 3), w = random_numbers(columns * depth, 2);
        const auto bias = random_numbers(columns, 3);
        const Packed p = pack(*kernels_, w, depth, columns);
        Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth, .bias = bias.data()};
        const std::vector<float> y = multiplied(*kernels_, p, m, 0, rows);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            float row_scale = 0, column_scale = 0;
            const auto a = quantized(&x[i * depth], depth, row_scale),
                       b = quantized(&w[j * depth], depth, column_scale);
            std::int32_t sum = 0;
            for (std::int64_t k = 0; k < depth; ++k) sum += a[k] * b[k];
            const float scaled = static_cast<float>(sum) * (column_scale * row_scale);
            ASSERT_EQ(y[i * columns + j], scaled + bias[j]) << rows << " x " << depth << " x " << columns;
          }
      }
}

// On any processor: these values were computed on one machine, and all others must give them too.
TEST_P(Int8KernelsTest, GivesTheBitsOfOtherMachines) {
  const std::int64_t depth = 771, columns = 83;
  const auto w = plain_numbers(columns * depth, 1), bias = plain_numbers(columns, 2);
  const Packed p = pack(*kernels_, w, depth, columns, false, /*rotated=*/true);
  std::vector<float> all;
  for (const std::int64_t rows : {1, 6, 70}) {
    const auto x = plain_numbers(rows * depth, 3), residual = plain_numbers(rows * columns, 4);
    Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth, .bias = bias.data()};
    m.activation = Activation::gelu, m.residual = residual.data(), m.residual_row = columns;
    const std::vector<float> y = multiplied(*kernels_, p, m, 0, rows);
    all.insert(all.end(), y.begin(), y.end());
  }
  EXPECT_EQ(hash_of(all), 17210032408299173703u);
}

// Bytes at both ends of their range, where 16-bit sums would overflow.
TEST_P(Int8KernelsTest, DoesNotSaturate) {
  const std::int64_t depth = 4096;
  std::vector<float> x(depth, 1.0f), w(2 * depth, 1.0f);
  for (std::int64_t k = 0; k < depth; ++k) w[depth + k] = -1.0f;
  const Packed p = pack(*kernels_, w, depth, 2);
  for (const float sign : {1.0f, -1.0f}) {
    for (float& value : x) value = sign;
    Int8Product m{.rows = 1, .columns = 2, .x = x.data(), .x_row = depth};
    const std::vector<float> y = multiplied(*kernels_, p, m, 0, 1);
    EXPECT_NEAR(y[0], sign * 4096.0f, 1e-2f);
    EXPECT_NEAR(y[1], sign * -4096.0f, 1e-2f);
  }
}

TEST_P(Int8KernelsTest, GivesTheBitsOfThePortableCode) {
  for (const Activation activation : kActivations)
    for (const std::int64_t rows : {1, 11, 70})
      for (const std::int64_t depth : {5, 96, 129, 770})
        for (const std::int64_t columns : {7, 48, 83}) {
          auto x = random_numbers(rows * depth, 1, 2);
          const auto w = random_numbers(columns * depth, 2), bias = random_numbers(columns, 3, 20),
                     residual = random_numbers(rows * columns, 4);
          x[0] = 1e-33f;
          const bool rotated = depth > 5;
          const Packed p = pack(*kernels_, w, depth, columns, false, rotated),
                       q = pack(portable(), w, depth, columns, false, rotated);
          EXPECT_EQ(p.weights, q.weights);
          EXPECT_EQ(p.scales, q.scales);
          EXPECT_EQ(p.sums, q.sums);
          Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth};
          m.bias = bias.data(), m.activation = activation;
          m.residual = residual.data(), m.residual_row = columns;
          const auto found = multiplied(*kernels_, p, m, 0, rows),
                     expected = multiplied(portable(), q, m, 0, rows);
          ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * 4), 0)
              << rows << " x " << depth << " x " << columns << ", activation "
              << static_cast<int>(activation);
          // A row alone and together with others.
          const std::int64_t row = rows / 2;
          const auto alone = multiplied(*kernels_, p, m, row, row + 1);
          EXPECT_EQ(std::memcmp(alone.data(), &found[row * columns], alone.size() * 4), 0);
        }
}

TEST_P(Int8KernelsTest, PacksAColumnOfEitherLayout) {
  const std::int64_t depth = 37, columns = 21;
  const auto w = random_numbers(columns * depth, 2);
  std::vector<float> transposed(w.size());
  for (std::int64_t n = 0; n < columns; ++n)
    for (std::int64_t k = 0; k < depth; ++k) transposed[k * columns + n] = w[n * depth + k];
  const Packed p = pack(*kernels_, w, depth, columns), t = pack(*kernels_, transposed, depth, columns, true);
  EXPECT_EQ(p.weights, t.weights);
  EXPECT_EQ(p.scales, t.scales);
  std::vector<float> column(depth);
  for (std::int64_t n = 0; n < columns; ++n) {
    kernels_->column(p.matrix, n, column.data());
    for (std::int64_t k = 0; k < depth; ++k) EXPECT_NEAR(column[k], w[n * depth + k], p.scales[n] * 0.5001f);
  }
}

// A number far larger than the others must not cost them their precision.
TEST_P(Int8KernelsTest, RotatesWithoutChangingTheProduct) {
  for (const std::int64_t depth : {31, 32, 64, 130, 384, 768, 1000}) {
    const std::int64_t rows = 3, columns = 40;
    auto x = random_numbers(rows * depth, 1);
    const auto w = random_numbers(columns * depth, 2);
    x[7] = 30;
    double errors[2] = {};
    for (const bool rotated : {false, true}) {
      const Packed p = pack(*kernels_, w, depth, columns, false, rotated);
      Int8Product m{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth};
      const std::vector<float> y = multiplied(*kernels_, p, m, 0, rows);
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<double>(x[k]) * w[j * depth + k];
        errors[rotated] += std::pow(sum - y[j], 2);
      }
      std::vector<float> column(depth);
      kernels_->column(p.matrix, columns - 1, column.data());
      for (std::int64_t k = 0; k < depth; ++k)  // one step for each of up to 16 numbers
        EXPECT_NEAR(column[k], w[(columns - 1) * depth + k], p.scales[columns - 1] * 2.1f);
    }
    EXPECT_LE(std::sqrt(errors[1]), (depth >= 128 ? 0.5 : 1) * std::sqrt(errors[0])) << depth;
  }
}

TEST_P(Int8KernelsTest, RotatesBack) {
  const auto x = random_numbers(530, 1);
  auto y = x;
  kernels_->rotate(y.data(), 530);
  auto z = x;
  portable().rotate(z.data(), 530);
  EXPECT_EQ(y, z);
  EXPECT_NE(x[0], y[0]);
  EXPECT_EQ(x[529], y[529]);  // 256 + 256 + 18: the last part has too few numbers for two rows
  kernels_->rotate(y.data(), 530);
  for (int i = 0; i < 530; ++i) EXPECT_NEAR(x[i], y[i], 1e-6);
}

TEST_P(Int8KernelsTest, NonFiniteNumbersGiveNaN) {
  const std::int64_t depth = 40;
  std::vector<float> x(3 * depth, 1.0f), w(2 * depth, 0.5f);
  x[5] = std::numeric_limits<float>::infinity();
  x[depth + 39] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t k = 0; k < depth; ++k) w[depth + k] = 0;
  const Packed p = pack(*kernels_, w, depth, 2);
  Int8Product m{.rows = 3, .columns = 2, .x = x.data(), .x_row = depth};
  const std::vector<float> y = multiplied(*kernels_, p, m, 0, 3);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_NEAR(y[4], 20, 1e-4);
  EXPECT_EQ(y[5], 0);  // a column of zeros
}

// Three sequences with D numbers per head, the second with fewer queries than keys.
struct AttentionOfIntegers {
  static constexpr std::int64_t kHeads = 2;
  std::int64_t D;
  std::vector<std::int64_t> query_offsets{0, 1, 39, 106}, key_begin{0, 1, 60}, key_length{1, 59, 67};
  std::vector<float> q, k, v;
  bool causal = false;

  AttentionOfIntegers(std::int64_t size, float largest)
      : D(size),
        q(random_numbers(106 * kHeads * D, 1, largest)),
        k(random_numbers(127 * kHeads * D, 2)),
        v(random_numbers(127 * kHeads * D, 3)) {}

  std::vector<float> computed(const Int8Kernels& kernels, std::vector<float>* weights = nullptr) const {
    const std::int64_t w = kHeads * D;
    std::vector<float> out(106 * w, -7.5f), unused(kHeads * 38 * 59);
    if (weights != nullptr) weights->assign(kHeads * 67 * 67, -7.5f);
    Attention a;
    a.sequences = 3, a.heads = kHeads, a.head_size = D, a.query = q.data(), a.query_stride = w;
    a.query_offsets = query_offsets.data(), a.keys.key = k.data(), a.keys.value = v.data();
    a.keys.stride = w, a.keys.key_begin = key_begin.data(), a.keys.key_length = key_length.data();
    a.causal = causal, a.scale = 0.2f, a.out = out.data(), a.out_stride = w;
    float* const probabilities[] = {unused.data(), unused.data(), weights ? weights->data() : nullptr};
    a.probabilities = weights ? probabilities : nullptr;
    std::vector<float> scratch(int8_attention_scratch(a) / 4 + 1);
    kernels.attention(a, 0, 3 * kHeads, reinterpret_cast<std::uint8_t*>(scratch.data()));
    return out;
  }

  // The definition, for the same integers.
  std::vector<double> expected() const {
    const std::int64_t w = kHeads * D;
    std::vector<double> out(106 * w);
    for (std::size_t b = 0; b < 3; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h) {
        const std::int64_t Lq = query_offsets[b + 1] - query_offsets[b], Lk = key_length[b];
        for (std::int64_t i = 0; i < Lq; ++i) {
          const std::int64_t row = query_offsets[b] + i, seen = causal ? i + Lk - Lq + 1 : Lk;
          float query_scale = 0;
          const auto query = quantized(&q[row * w + h * D], D, query_scale);
          std::vector<double> p(seen);
          double highest = -INFINITY, total = 0;
          for (std::int64_t j = 0; j < seen; ++j) {
            float scale = 0;
            const auto key = quantized(&k[(key_begin[b] + j) * w + h * D], D, scale);
            double sum = 0;
            for (std::int64_t d = 0; d < D; ++d) sum += query[d] * key[d];
            highest = std::max(highest, p[j] = sum * scale * query_scale * 0.2);
          }
          for (double& x : p) total += x = std::exp(x - highest);
          for (std::int64_t j = 0; j < seen; ++j) {
            float scale = 0;
            const auto value = quantized(&v[(key_begin[b] + j) * w + h * D], D, scale);
            for (std::int64_t d = 0; d < D; ++d) out[row * w + h * D + d] += p[j] / total * value[d] * scale;
          }
        }
      }
    return out;
  }
};

TEST_P(Int8KernelsTest, AttendsAsTheDefinitionOfItsIntegers) {
  for (const std::int64_t D : {1, 5, 16, 32, 50, 64, 80})
    for (const bool causal : {false, true}) {
      AttentionOfIntegers c(D, 2);
      c.causal = causal;
      std::vector<float> weights;
      const std::vector<float> out = c.computed(*kernels_);
      EXPECT_LT(difference(out, c.expected()), 5e-4) << D;  // weights are rounded to 15 bits, each by 2^-16
      EXPECT_EQ(out, c.computed(portable())) << D;          // to the last bit
      EXPECT_EQ(out, c.computed(*kernels_, &weights)) << D;
      for (std::int64_t i = 0; i < 67; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < 67; ++j) sum += weights[i * 67 + j];
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
}

// One key far above the others gets almost all of the weight.
TEST_P(Int8KernelsTest, AttendsToOneKeyAlone) {
  const AttentionOfIntegers c(32, 30);
  EXPECT_LT(difference(c.computed(*kernels_), c.expected()), 1e-4);
}

TEST_P(Int8KernelsTest, AttentionOverNaNGivesNaN) {
  AttentionOfIntegers c(16, 1);
  const std::int64_t w = 2 * 16;
  const std::vector<float> well = c.computed(*kernels_);
  c.k[(60 + 3) * w] = NAN;  // of the last sequence's first head
  const std::vector<float> found = c.computed(*kernels_);
  for (std::int64_t i = 0; i < 106; ++i)
    for (std::int64_t d = 0; d < w; ++d)
      if (i >= 39 && d < 16)
        EXPECT_TRUE(std::isnan(found[i * w + d]));
      else
        EXPECT_EQ(found[i * w + d], well[i * w + d]);
}

INSTANTIATE_TEST_SUITE_P(Sets, Int8KernelsTest, testing::ValuesIn(int8_sets),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend::kernels
