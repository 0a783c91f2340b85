// One label per example: accuracy, F1 and Matthews' correlation (Gorodkin 2004 for more than two labels),
// equal to scikit-learn's.
#pragma once

#include "metrics/label_counts.h"

namespace attend {

class ClassificationMetric : public Metric {
 public:
  explicit ClassificationMetric(std::int64_t labels);

  // Error for a label that is none of 0 .. labels - 1.
  void add(std::int64_t predicted, std::int64_t expected);

  // accuracy, f1, precision, recall, macro_f1, matthews. With two labels, f1, precision and recall are those
  // of label 1; with more, the mean over the labels that occur. A division by zero gives 0, and so does
  // matthews if only one label was predicted or expected. NaN without examples.
  Figures figures() const override;

 private:
  std::vector<LabelCounts> labels_;
  std::int64_t examples_ = 0;
};

}  // namespace attend
