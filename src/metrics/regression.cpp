#include "metrics/regression.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {
namespace {

// Ranks from 1; equal numbers share the mean of theirs. NaN is not among the numbers.
std::vector<double> ranks(std::span<const double> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> result(numbers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return result;
}

}  // namespace

void Correlation::add(double x, double y) {
  if (count_ == 0) {
    first_x_ = x;
    first_y_ = y;
  }
  x -= first_x_;
  y -= first_y_;
  count_ += 1;
  const double from_x = x - mean_x_, from_y = y - mean_y_;  // to the means before
  mean_x_ += from_x / count_;
  mean_y_ += from_y / count_;
  moment_x_ += from_x * (x - mean_x_);
  moment_y_ += from_y * (y - mean_y_);
  co_moment_ += from_x * (y - mean_y_);
}

double Correlation::pearson() const {
  const double result = quotient(co_moment_, std::sqrt(moment_x_) * std::sqrt(moment_y_));
  return std::isnan(result) ? result : std::clamp(result, -1.0, 1.0);  // rounding may lead beyond
}

double spearman(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size())
    fail("expected as many numbers on both sides, found {} and {}", x.size(), y.size());
  const auto is_nan = [](double number) { return std::isnan(number); };
  if (std::any_of(x.begin(), x.end(), is_nan) || std::any_of(y.begin(), y.end(), is_nan)) return not_defined;
  const std::vector<double> x_ranks = ranks(x), y_ranks = ranks(y);
  Correlation correlation;
  for (std::size_t i = 0; i < x.size(); ++i) correlation.add(x_ranks[i], y_ranks[i]);
  return correlation.pearson();
}

void RegressionMetric::add(double predicted, double expected) {
  correlation_.add(predicted, expected);
  squared_error_ += (predicted - expected) * (predicted - expected);
  predicted_.push_back(predicted);
  expected_.push_back(expected);
}

Figures RegressionMetric::figures() const {
  return {{"pearson", correlation_.pearson()},
          {"spearman", spearman(predicted_, expected_)},
          {"mean_squared_error", quotient(squared_error_, static_cast<double>(predicted_.size()))}};
}

}  // namespace attend
