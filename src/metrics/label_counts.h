// Precision, recall and F1 of labels, as scikit-learn computes them: 0 where one is not defined.
#pragma once

#include "metrics/metric.h"

#include <span>

namespace attend {

// How often a label was predicted, expected, and both.
struct LabelCounts {
  std::int64_t predicted = 0, expected = 0, matched = 0;

  LabelCounts& operator+=(const LabelCounts& other);
};

struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
};
PrecisionRecall precision_recall(const LabelCounts& counts);

// Micro: of all labels together. Macro: the mean over labels; of those that occur in predictions or
// expectations, or of all.
PrecisionRecall micro_average(std::span<const LabelCounts> labels);
enum class Averaged { labels_that_occur, all_labels };
PrecisionRecall macro_average(std::span<const LabelCounts> labels, Averaged averaged);

// Throws Error unless 0 <= label < labels. `what` is "predicted" or "expected".
void check_label(std::int64_t label, std::size_t labels, const char* what);

}  // namespace attend
