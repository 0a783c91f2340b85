// Any number of labels per example, equal to scikit-learn's figures of indicator matrices.
#pragma once

#include "metrics/label_counts.h"

#include <span>

namespace attend {

class MultiLabelMetric : public Metric {
 public:
  explicit MultiLabelMetric(std::int64_t labels);

  // The labels of one example in any order; a repeated one counts once. Error for a label that is
  // none of 0 .. labels - 1.
  void add(std::span<const std::int64_t> predicted, std::span<const std::int64_t> expected);

  // accuracy (the fraction of examples with exactly the expected labels), f1, precision, recall (micro: over
  // all pairs of example and label), macro_f1 (mean over all labels; a label that never occurs has F1 0). NaN
  // without examples.
  Figures figures() const override;

 private:
  std::vector<LabelCounts> labels_;
  std::vector<char> is_predicted_, is_expected_;  // of the example at hand
  std::int64_t examples_ = 0, exact_ = 0;
};

}  // namespace attend
