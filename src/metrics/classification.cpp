#include "metrics/classification.h"

#include "base/error.h"

#include <cmath>

namespace attend {
namespace {

// Gorodkin's R_K, which is Matthews' coefficient for two labels, needs sums by label only, not their table.
double matthews(std::span<const LabelCounts> labels, double examples) {
  double correct = 0, both = 0, predicted_squares = 0, expected_squares = 0;
  for (const LabelCounts& label : labels) {
    const auto predicted = static_cast<double>(label.predicted),
               expected = static_cast<double>(label.expected);
    correct += static_cast<double>(label.matched);
    both += predicted * expected;
    predicted_squares += predicted * predicted;
    expected_squares += expected * expected;
  }
  const double predicted_variance = examples * examples - predicted_squares,
               expected_variance = examples * examples - expected_squares;
  return quotient(correct * examples - both, std::sqrt(predicted_variance) * std::sqrt(expected_variance), 0);
}

}  // namespace

ClassificationMetric::ClassificationMetric(std::int64_t labels) {
  if (labels < 1) fail("expected one label to classify by at least, found {}", labels);
  labels_.resize(static_cast<std::size_t>(labels));
}

void ClassificationMetric::add(std::int64_t predicted, std::int64_t expected) {
  check_label(predicted, labels_.size(), "predicted");
  check_label(expected, labels_.size(), "expected");
  labels_[static_cast<std::size_t>(predicted)].predicted += 1;
  labels_[static_cast<std::size_t>(expected)].expected += 1;
  if (predicted == expected) labels_[static_cast<std::size_t>(expected)].matched += 1;
  examples_ += 1;
}

Figures ClassificationMetric::figures() const {
  if (examples_ == 0)
    return {{"accuracy", not_defined}, {"f1", not_defined},       {"precision", not_defined},
            {"recall", not_defined},   {"macro_f1", not_defined}, {"matthews", not_defined}};
  double correct = 0;
  for (const LabelCounts& label : labels_) correct += static_cast<double>(label.matched);
  const auto examples = static_cast<double>(examples_);
  const PrecisionRecall macro = macro_average(labels_, Averaged::labels_that_occur);
  const PrecisionRecall main = labels_.size() == 2 ? precision_recall(labels_[1]) : macro;
  return {{"accuracy", correct / examples}, {"f1", main.f1},
          {"precision", main.precision},    {"recall", main.recall},
          {"macro_f1", macro.f1},           {"matthews", matthews(labels_, examples)}};
}

}  // namespace attend
