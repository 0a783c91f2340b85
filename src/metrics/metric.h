// What is measured of a model on examples: each kind is a class that examples are added to as they come, so
// that an evaluation needs no more memory than a batch (Spearman's ranks apart: two numbers an example), and
// that says its figures by name at any time.
//
// Figures are shares from 0 to 1, but for what its authors count in percent: BLEU, chrF and the answers of
// SQuAD. What is not defined (no examples, a division by zero) is what scikit-learn, scipy, seqeval and
// rouge_score make of it; each header says what. Where those raise an error, it is NaN.
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
