// Numbers against numbers: Pearson's and Spearman's correlation, equal to scipy's, and the squared error.
#pragma once

#include "metrics/metric.h"

#include <span>

namespace attend {

// Pearson's correlation of pairs that come one at a time, without cancellation: Welford 1962 for means,
// Bennett et al. 2009 for the co-moment.
class Correlation {
 public:
  void add(double x, double y);
  double pearson() const;  // NaN of fewer than two pairs, and where x or y is constant

 private:
  // Relative to the first pair: differences of numbers that lie close together are exact.
  double first_x_ = 0, first_y_ = 0;
  double count_ = 0, mean_x_ = 0, mean_y_ = 0, moment_x_ = 0, moment_y_ = 0, co_moment_ = 0;
};

// Pearson's correlation of the ranks; equal numbers share the mean of their ranks. NaN as above, and where a
// number is NaN.
double spearman(std::span<const double> x, std::span<const double> y);

class RegressionMetric : public Metric {
 public:
  void add(double predicted, double expected);

  // pearson, spearman, mean_squared_error: NaN without examples, the correlations as above.
  Figures figures() const override;

 private:
  Correlation correlation_;
  double squared_error_ = 0;
  std::vector<double> predicted_, expected_;  // for the ranks
};

}  // namespace attend
