#include "metrics/multi_label.h"

#include "base/error.h"

namespace attend {

MultiLabelMetric::MultiLabelMetric(std::int64_t labels) {
  if (labels < 1) fail("expected one label to classify by at least, found {}", labels);
  const auto count = static_cast<std::size_t>(labels);
  labels_.resize(count);
  is_predicted_.resize(count);
  is_expected_.resize(count);
}

void MultiLabelMetric::add(std::span<const std::int64_t> predicted, std::span<const std::int64_t> expected) {
  const auto mark = [](std::vector<char>& marks, std::span<const std::int64_t> labels, const char* what) {
    marks.assign(marks.size(), 0);
    for (const std::int64_t label : labels) {
      check_label(label, marks.size(), what);
      marks[static_cast<std::size_t>(label)] = 1;
    }
  };
  mark(is_predicted_, predicted, "predicted");
  mark(is_expected_, expected, "expected");
  for (std::size_t label = 0; label < labels_.size(); ++label)
    labels_[label] += {is_predicted_[label], is_expected_[label], is_predicted_[label] & is_expected_[label]};
  exact_ += is_predicted_ == is_expected_;
  examples_ += 1;
}

Figures MultiLabelMetric::figures() const {
  if (examples_ == 0)
    return {{"accuracy", not_defined},
            {"f1", not_defined},
            {"precision", not_defined},
            {"recall", not_defined},
            {"macro_f1", not_defined}};
  const PrecisionRecall micro = micro_average(labels_);
  return {{"accuracy", static_cast<double>(exact_) / static_cast<double>(examples_)},
          {"f1", micro.f1},
          {"precision", micro.precision},
          {"recall", micro.recall},
          {"macro_f1", macro_average(labels_, Averaged::all_labels).f1}};
}

}  // namespace attend
