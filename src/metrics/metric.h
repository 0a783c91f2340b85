// Metrics of a model on examples. Each metric is a class to which examples are added one by one, so that an
// evaluation needs memory for only one batch (except Spearman's ranks: two numbers per example). It gives its
// figures by name at any time.
//
// Figures are fractions from 0 to 1, except those that their authors give in percent: BLEU, chrF and SQuAD's
// answers. Undefined values (no examples, a division by zero) are what scikit-learn, scipy, seqeval and
// rouge_score return, as each header says; if they raise an error, NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attend {

using Figures = std::vector<std::pair<std::string, double>>;

class Metric {
 public:
  virtual ~Metric() = default;
  virtual Figures figures() const = 0;
};

constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();

// a / b, and `otherwise` where b is 0.
inline double quotient(double a, double b, double otherwise = not_defined) {
  return b == 0 ? otherwise : a / b;
}

}  // namespace attend
