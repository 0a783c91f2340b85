#include "kernels/kernels_test.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace attend::kernels {
namespace {

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::mish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::clipped_gelu:
      return std::clamp(x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), -10.0, 10.0);
    case Activation::leaky_relu:
      return x > 0 ? x : 0.01 * x;
    case Activation::relu6:
      return std::clamp(x, 0.0, 6.0);
    case Activation::squared_relu:
      return x > 0 ? x * x : 0;
    case Activation::laplace:
      return 0.5 * (1 + std::erf((x - std::sqrt(0.5)) / (std::sqrt(0.25 / M_PI) * std::sqrt(2.0))));
  }
  return x;
}

TEST_P(KernelsTest, IsTheSetItsNameSays) {
  EXPECT_EQ(std::string(kernels_->name), GetParam());
}

// rows x depth times depth x columns, with everything that may follow, at sizes around the edges of every
// tile.
TEST_P(KernelsTest, MultipliesLikeTheDefinition) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 70})
    for (const std::int64_t depth : {13, 512, 530})
      for (const std::int64_t columns : {1, 16, 31, 47, 48, 80, 101}) {
        const auto a = random_numbers(rows * depth, 1), b = random_numbers(depth * columns, 2);
        const auto bias = random_numbers(columns, 3), residual = random_numbers(rows * columns, 4);
        for (bool transposed : {false, true}) {
          // transposed: A is stored [depth, rows] and B [columns, depth].
          std::vector<float> packed(kernels_->packed_size(depth, columns)), c(rows * columns, 0.5f);
          const std::int64_t b_row = transposed ? 1 : columns, b_column = transposed ? depth : 1;
          kernels_->pack_panels(packed.data(), b.data(), b_row, b_column, depth, columns, 0,
                                kernels_->panel_count(columns));
          MatrixProduct m;
          m.rows = rows, m.depth = depth, m.columns = columns;
          m.a = a.data(), m.a_row = transposed ? 1 : depth, m.a_column = transposed ? rows : 1;
          m.b = packed.data(), m.c = c.data(), m.c_row = columns;
          m.accumulate = transposed;
          m.bias = bias.data(), m.activation = Activation::gelu;
          m.residual = residual.data(), m.residual_row = columns;
          kernels_->multiply(m, 0, rows, 0, kernels_->panel_count(columns));
          std::vector<float> unpacked(rows * columns, 0.5f);
          m.c = unpacked.data(), m.b = b.data(), m.b_row = b_row, m.b_column = b_column;
          kernels_->multiply(m, 0, rows, 0, kernels_->panel_count(columns));
          EXPECT_EQ(c, unpacked);
          std::vector<double> expected;
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
              double sum = (transposed ? 0.5 : 0.0) + bias[j];
              for (std::int64_t k = 0; k < depth; ++k)
                sum += static_cast<double>(a[i * m.a_row + k * m.a_column]) * b[k * b_row + j * b_column];
              expected.push_back(activated(Activation::gelu, sum) + residual[i * columns + j]);
            }
          EXPECT_LT(difference(c, expected), 3e-6)
              << rows << " x " << depth << " x " << columns << transposed;
        }
      }
}

// Each rounded to the nearest number of 8 significant bits, ties to even.
std::vector<double> as_bfloat16(const std::vector<float>& numbers) {
  std::vector<double> rounded;
  for (const float x : numbers) {
    int exponent = 0;
    const double fraction = std::frexp(double{x}, &exponent);  // in [0.5, 1)
    rounded.push_back(std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8));
  }
  return rounded;
}

TEST_P(KernelsTest, MultipliesNumbersRoundedToBfloat16) {
  for (const std::int64_t rows : {1, 7, 16, 33, 150})
    for (const std::int64_t depth : {1, 13, 64, 512, 545})
      for (const std::int64_t columns : {1, 16, 47, 101}) {
        auto a = random_numbers(rows * depth, 1), b = random_numbers(depth * columns, 2);
        a[0] = 1.00390625f, b[0] = 1.01171875f;  // ties: down to 1, up to 1.015625
        const auto bias = random_numbers(columns, 3);
        const std::vector<double> rounded_a = as_bfloat16(a), rounded_b = as_bfloat16(b);
        for (bool transposed : {false, true}) {
          // transposed: A is stored [depth, rows] and B [columns, depth].
          const std::int64_t b_row = transposed ? 1 : columns, b_column = transposed ? depth : 1;
          std::vector<std::uint32_t> packed(kernels_->packed_size((depth + 1) / 2, columns), 0xffffffffu);
          kernels_->pack_pairs(packed.data(), b.data(), b_row, b_column, depth, columns, 0,
                               kernels_->panel_count(columns));
          std::vector<float> c(rows * columns, 0.5f);
          MatrixProduct m;
          m.rows = rows, m.depth = depth, m.columns = columns;
          m.a = a.data(), m.a_row = transposed ? 1 : depth, m.a_column = transposed ? rows : 1;
          m.pairs = packed.data(), m.c = c.data(), m.c_row = columns;
          m.accumulate = transposed, m.bias = bias.data();
          kernels_->multiply_bfloat16(m, 0, rows, 0, kernels_->panel_count(columns));
          std::vector<double> expected;
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
              double sum = (transposed ? 0.5 : 0.0) + bias[j];
              for (std::int64_t k = 0; k < depth; ++k)
                sum += rounded_a[i * m.a_row + k * m.a_column] * rounded_b[k * b_row + j * b_column];
              expected.push_back(sum);
            }
          EXPECT_LT(difference(c, expected), 3e-6)
              << rows << " x " << depth << " x " << columns << transposed;
        }
      }
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> a{odd, 1}, b{2, 1};
    std::vector<std::uint32_t> packed(kernels_->packed_size(1, 1));
    kernels_->pack_pairs(packed.data(), b.data(), 1, 1, 2, 1, 0, 1);
    float c = 0;
    MatrixProduct m;
    m.rows = 1, m.depth = 2, m.columns = 1, m.a = a.data(), m.a_row = 2, m.pairs = packed.data();
    m.c = &c, m.c_row = 1;
    kernels_->multiply_bfloat16(m, 0, 1, 0, 1);
    EXPECT_TRUE(std::isnan(odd) ? std::isnan(c) : c == odd) << odd << " gave " << c;
  }
}

TEST_P(KernelsTest, ARowOfAProductDoesNotDependOnTheOthers) {
  constexpr std::int64_t depth = 300, columns = 101;
  const auto a = random_numbers(64 * depth, 1), b = random_numbers(depth * columns, 2);
  std::vector<float> packed(kernels_->packed_size(depth, columns)), all(64 * columns), alone(columns);
  kernels_->pack_panels(packed.data(), b.data(), columns, 1, depth, columns, 0,
                        kernels_->panel_count(columns));
  MatrixProduct m;
  m.rows = 64, m.depth = depth, m.columns = columns, m.a = a.data(), m.a_row = depth, m.b = packed.data();
  m.c = all.data(), m.c_row = columns;
  kernels_->multiply(m, 0, 64, 0, kernels_->panel_count(columns));
  m.rows = 1, m.c = alone.data();
  for (std::int64_t row : {0, 7, 63}) {
    m.a = a.data() + row * depth;
    kernels_->multiply(m, 0, 1, 0, kernels_->panel_count(columns));
    for (std::int64_t j = 0; j < columns; ++j) EXPECT_EQ(alone[j], all[row * columns + j]);
  }
}

TEST_P(KernelsTest, ActivationsAndTheirSlopes) {
  std::vector<float> x = random_numbers(1003, 5, 3);
  x[0] = 0, x[1] = 90, x[2] = -90, x[3] = 1e-4f;
  const std::vector<float> ones(x.size(), 1);
  for (const Activation activation : kActivations) {
    std::vector<float> y(x.size()), slope(x.size());
    kernels_->activation(activation, y.data(), x.data(), 0, static_cast<std::int64_t>(x.size()));
    kernels_->activation_backward(activation, slope.data(), ones.data(), x.data(), 0,
                                  static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], activated(activation, x[i]), 2e-6 * std::max(1.0, std::abs(double{x[i]})));
      const bool bends = activation == Activation::relu || activation == Activation::leaky_relu ||
                         activation == Activation::relu6;
      if (bends && x[i] == 0) continue;  // no derivative there
      constexpr double h = 1e-5;
      const double expected = (activated(activation, x[i] + h) - activated(activation, x[i] - h)) / (2 * h);
      EXPECT_NEAR(slope[i], expected, 5e-6) << static_cast<int>(activation) << " at " << x[i];
    }
  }
  float nan = NAN, out = 0;
  for (const Activation activation : kActivations) {
    kernels_->activation(activation, &out, &nan, 0, 1);
    EXPECT_TRUE(std::isnan(out));
  }
}

TEST_P(KernelsTest, FindsTheFirstAbove) {
  for (const std::int64_t size : {0, 1, 63, 64, 200})
    for (std::int64_t place = 0; place <= size; ++place)
      for (const float value : {0.6f, NAN, INFINITY}) {
        std::vector<float> x(size + 1, 0.25f);
        x[place] = value;  // at `size` it is after the end
        EXPECT_EQ(kernels_->find_above(x.data(), 0, size, 0.25f, 0.5f), place);
        EXPECT_EQ(kernels_->find_above(x.data(), std::min(size, place + 1), size, 0.25f, 0.5f), size);
      }
}

TEST_P(KernelsTest, DropoutKeepsTheShareItShouldAndScalesIt) {
  constexpr std::int64_t count = 200003;
  const std::vector<float> ones(count, 1);
  std::vector<float> out(count), pieces(count);
  kernels_->dropout_add(out.data(), ones.data(), nullptr, 0, count, 0.3f, 7);
  kernels_->dropout_add(pieces.data(), ones.data(), nullptr, 0, 1001, 0.3f, 7);
  kernels_->dropout_add(pieces.data(), ones.data(), nullptr, 1001, count, 0.3f, 7);
  EXPECT_EQ(out, pieces) << "the mask must not depend on how the work is cut";
  std::int64_t kept = 0;
  for (float x : out) {
    EXPECT_TRUE(x == 0 || std::abs(x - 1 / 0.7f) < 1e-6);
    kept += x != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / count, 0.7, 0.005);  // 5 standard deviations
  EXPECT_EQ(out, [&] {
    std::vector<float> portable(count);
    find_kernels("portable")->dropout_add(portable.data(), ones.data(), nullptr, 0, count, 0.3f, 7);
    return portable;
  }()) << "every instruction set draws the same";
}

TEST_P(KernelsTest, CrossEntropyWithLabelSmoothing) {
  constexpr std::int64_t rows = 3, V = 101;
  const auto logits = random_numbers(rows * V, 1, 3);
  const std::int64_t labels[] = {5, -100, 100};
  std::vector<float> gradient = logits, losses(rows);
  const CrossEntropy c{labels, V, 0.1f, 2.0f, losses.data()};
  kernels_->cross_entropy(c, gradient.data(), 0, rows);
  for (std::int64_t t = 0; t < rows; ++t) {
    double total = 0, mean = 0;
    for (std::int64_t i = 0; i < V; ++i) total += std::exp(double{logits[t * V + i]});
    for (std::int64_t i = 0; i < V; ++i) mean += (std::log(total) - logits[t * V + i]) / V;
    const bool counts = labels[t] >= 0;
    EXPECT_NEAR(losses[t], counts ? 0.9 * (std::log(total) - logits[t * V + labels[t]]) + 0.1 * mean : 0,
                1e-5);
    for (std::int64_t i = 0; i < V; ++i) {
      const double target = (i == labels[t] ? 0.9 : 0) + 0.1 / V;
      const double expected = counts ? 2 * (std::exp(logits[t * V + i]) / total - target) : 0;
      EXPECT_NEAR(gradient[t * V + i], expected, 2e-6);
    }
  }
}

TEST_P(KernelsTest, SoftmaxAndItsLogarithm) {
  for (const std::int64_t length : {1, 5, 64, 101}) {
    auto x = random_numbers(length, 30, 6);
    if (length > 5) x[3] = x[70 % length] = -INFINITY;
    double total = 0;
    for (const float value : x) total += std::exp(double{value});
    auto shares = x, logs = x;
    kernels_->softmax(shares.data(), x.data(), length);
    kernels_->log_softmax(logs.data(), logs.data(), length);
    for (std::int64_t i = 0; i < length; ++i) {
      const double share = std::exp(double{x[i]}) / total;
      EXPECT_NEAR(shares[i], share, 1e-5 * share + 1e-37);
      if (std::isinf(x[i]))
        EXPECT_EQ(logs[i], -INFINITY);
      else
        EXPECT_NEAR(logs[i], x[i] - std::log(total), 1e-5);
    }
    if (length < 64) continue;
    x[17] = NAN;  // must not be hidden
    kernels_->log_softmax(x.data(), x.data(), length);
    EXPECT_TRUE(std::isnan(x[17]));
  }
}

TEST_P(KernelsTest, DisagreementOfTwoPredictions) {
  for (const std::int64_t V : {1, 101, 128}) {
    const auto first = random_numbers(V, 1, 3), second = random_numbers(V, 1, 4);
    std::vector<float> first_gradient(V), second_gradient(V);
    const float found = kernels_->disagreement(
        {first.data(), second.data(), V, 2.0f, first_gradient.data(), second_gradient.data()});
    const auto log_softmax = [V](const std::vector<float>& x) {
      double total = 0;
      for (const float value : x) total += std::exp(double{value});
      std::vector<double> logs(V);
      for (std::int64_t i = 0; i < V; ++i) logs[i] = x[i] - std::log(total);
      return logs;
    };
    const std::vector<double> p = log_softmax(first), q = log_softmax(second);
    double p_q = 0, q_p = 0;
    for (std::int64_t i = 0; i < V; ++i) {
      p_q += std::exp(p[i]) * (p[i] - q[i]);
      q_p += std::exp(q[i]) * (q[i] - p[i]);
    }
    EXPECT_NEAR(found, p_q + q_p, 1e-5);
    for (std::int64_t i = 0; i < V; ++i) {
      const double one = std::exp(p[i]), other = std::exp(q[i]);
      EXPECT_NEAR(first_gradient[i], 2 * (one * (p[i] - q[i] - p_q) + one - other), 1e-5);
      EXPECT_NEAR(second_gradient[i], 2 * (other * (q[i] - p[i] - q_p) + other - one), 1e-5);
    }
  }
}

TEST_P(KernelsTest, AdamTakesTheStepOfThePaper) {
  std::vector<float> weight{1, -2}, mean{0.1f, 0}, variance{0.2f, 0};
  const std::vector<float> gradient{0.5f, -1};
  const Adam adam{.rate = 0.1f,
                  .beta1 = 0.9f,
                  .beta2 = 0.98f,
                  .epsilon = 1e-9f,
                  .weight_decay = 0.01f,
                  .correction1 = 0.5f,
                  .correction2 = 0.25f,
                  .gradient_scale = 2};
  kernels_->adam(adam, weight.data(), gradient.data(), mean.data(), variance.data(), 0, 2);
  const double m = 0.9 * 0.1 + 0.1 * 1, v = 0.98 * 0.2 + 0.02 * 1;
  EXPECT_NEAR(mean[0], m, 1e-6);
  EXPECT_NEAR(variance[0], v, 1e-6);
  EXPECT_NEAR(weight[0], 1 * (1 - 0.1 * 0.01) - 0.1 * (m / 0.5) / std::sqrt(v / 0.25), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest, testing::ValuesIn(instruction_sets));

}  // namespace
}  // namespace attend::kernels
