#include "kernels/kernels_test.h"

#include <cmath>

namespace attend::kernels {
namespace {

class NormKernelsTest : public KernelsTest {};
INSTANTIATE_TEST_SUITE_P(Sets, NormKernelsTest, testing::ValuesIn(instruction_sets));

// An overflow must not look like a result: it gives NaN, like 0 / 0. torch gives NaN or zeros there,
// depending on the position of the numbers in a row.
TEST_P(NormKernelsTest, LayerNormOfARowThatOverflowsIsNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t d : {1, 5, 8, 16, 31, 96, 387, 768}) {
    const std::vector<float> weight(d, 1), bias(d, 0.5f);
    // The second of three rows: all numbers, or a single one, are too large.
    for (const float size : {1e20f, 1e30f, 3e38f, kInfinity, -kInfinity})
      for (const bool single : {false, true}) {
        if (d == 1 && std::isfinite(size)) continue;  // a single number equals its mean
        std::vector<float> x = random_numbers(3 * d, 1), y(3 * d), mean(3), inverse(3);
        for (std::int64_t i = 0; i < d; ++i)
          if (!single || i == d / 2) x[d + i] = std::isfinite(size) ? x[d + i] * size : size;
        if (single && std::isfinite(size)) x[d + d / 2] = size;
        kernels_->layer_norm(y.data(), x.data(), weight.data(), bias.data(), 0, 3, d, 1e-5f, mean.data(),
                             inverse.data());
        EXPECT_TRUE(std::isnan(inverse[1])) << d << " numbers of " << size;
        for (std::int64_t i = 0; i < d; ++i) {
          EXPECT_TRUE(std::isnan(y[d + i])) << d << " numbers of " << size;
          EXPECT_TRUE(std::isfinite(y[i]) && std::isfinite(y[2 * d + i]));
        }
      }
  }
}

// A variance that does not overflow is correct for any size.
TEST_P(NormKernelsTest, LayerNormOfLargeNumbers) {
  constexpr std::int64_t d = 96;
  const std::vector<float> x = random_numbers(d, 1, 1e17f), weight(d, 1), bias(d, 0);
  std::vector<float> y(d);
  kernels_->layer_norm(y.data(), x.data(), weight.data(), bias.data(), 0, 1, d, 1e-5f, nullptr, nullptr);
  double mean = 0, variance = 0;
  for (const float one : x) mean += double{one} / d;
  for (const float one : x) variance += std::pow(one - mean, 2) / d;
  for (std::int64_t i = 0; i < d; ++i) EXPECT_NEAR(y[i], (x[i] - mean) / std::sqrt(variance), 2e-6);
}

// Like torch's x * rsqrt(mean(x^2) + epsilon): finite numbers become 0, an infinity NaN.
TEST_P(NormKernelsTest, RootMeanSquareNormThatOverflowsIsZero) {
  constexpr std::int64_t d = 37;
  const std::vector<float> weight(d, 1);
  std::vector<float> x(d, 1e20f), y(d);
  kernels_->layer_norm(y.data(), x.data(), weight.data(), nullptr, 0, 1, d, 1e-6f, nullptr, nullptr);
  EXPECT_EQ(y, std::vector<float>(d, 0));
  x[3] = std::numeric_limits<float>::infinity();
  kernels_->layer_norm(y.data(), x.data(), weight.data(), nullptr, 0, 1, d, 1e-6f, nullptr, nullptr);
  for (std::int64_t i = 0; i < d; ++i) EXPECT_EQ(std::isnan(y[i]), i == 3);
}

TEST_P(NormKernelsTest, LayerNormAndItsGradient) {
  constexpr std::int64_t rows = 5, d = 37;
  const auto x = random_numbers(rows * d, 1, 2), weight = random_numbers(d, 2), bias = random_numbers(d, 3),
             direction = random_numbers(rows * d, 4);
  std::vector<double> xs(x.begin(), x.end());
  const auto norm = [&] {
    std::vector<double> y;
    for (std::int64_t t = 0; t < rows; ++t) {
      double mean = 0, variance = 0;
      for (std::int64_t i = 0; i < d; ++i) mean += xs[t * d + i] / d;
      for (std::int64_t i = 0; i < d; ++i) variance += std::pow(xs[t * d + i] - mean, 2) / d;
      for (std::int64_t i = 0; i < d; ++i)
        y.push_back((xs[t * d + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]);
    }
    return y;
  };
  std::vector<float> out(rows * d), mean(rows), inverse(rows), dx(rows * d), dw(d), db(d);
  kernels_->layer_norm(out.data(), x.data(), weight.data(), bias.data(), 0, rows, d, 1e-5f, mean.data(),
                       inverse.data());
  EXPECT_LT(difference(out, norm()), 2e-6);
  kernels_->layer_norm_backward(dx.data(), dw.data(), db.data(), direction.data(), x.data(), weight.data(),
                                mean.data(), inverse.data(), 0, rows, d);
  for (std::int64_t at = 0; at < rows * d; at += 11) {
    constexpr double h = 1e-5;
    const auto loss = [&](double shift) {
      xs[at] = x[at] + shift;
      const auto y = norm();
      xs[at] = x[at];
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * direction[i];
      return sum;
    };
    EXPECT_NEAR(dx[at], (loss(h) - loss(-h)) / (2 * h), 2e-5);
  }
  for (std::int64_t i = 0; i < d; ++i) {
    double expected = 0;
    for (std::int64_t t = 0; t < rows; ++t) expected += direction[t * d + i];
    EXPECT_NEAR(db[i], expected, 1e-5);
  }
}

}  // namespace
}  // namespace attend::kernels
