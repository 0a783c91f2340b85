#include "metrics/label_counts.h"

#include "base/error.h"

namespace attend {

LabelCounts& LabelCounts::operator+=(const LabelCounts& other) {
  predicted += other.predicted;
  expected += other.expected;
  matched += other.matched;
  return *this;
}

PrecisionRecall precision_recall(const LabelCounts& counts) {
  const auto predicted = static_cast<double>(counts.predicted),
             expected = static_cast<double>(counts.expected), matched = static_cast<double>(counts.matched);
  return {quotient(matched, predicted, 0), quotient(matched, expected, 0),
          quotient(2 * matched, predicted + expected, 0)};
}

PrecisionRecall micro_average(std::span<const LabelCounts> labels) {
  LabelCounts sum;
  for (const LabelCounts& label : labels) sum += label;
  return precision_recall(sum);
}

PrecisionRecall macro_average(std::span<const LabelCounts> labels, Averaged averaged) {
  PrecisionRecall sum;
  double count = 0;
  for (const LabelCounts& label : labels) {
    if (averaged == Averaged::labels_that_occur && label.predicted + label.expected == 0) continue;
    const PrecisionRecall one = precision_recall(label);
    sum.precision += one.precision;
    sum.recall += one.recall;
    sum.f1 += one.f1;
    count += 1;
  }
  return {quotient(sum.precision, count, 0), quotient(sum.recall, count, 0), quotient(sum.f1, count, 0)};
}

void check_label(std::int64_t label, std::size_t labels, const char* what) {
  if (label < 0 || static_cast<std::uint64_t>(label) >= labels)
    fail("expected a label from 0 to {}, found {} {}", static_cast<std::int64_t>(labels) - 1, what, label);
}

}  // namespace attend
