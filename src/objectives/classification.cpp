#include "objectives/classification.h"

#include "data/labeled_texts.h"
#include "nn/losses/label_loss.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/label_choice.h"
#include "objectives/shared/label_numbers.h"
#include "objectives/shared/meters.h"
#include "objectives/shared/text_scores.h"

namespace attend {
namespace {

std::vector<EncodedText> encode(const Setting& setting, const std::vector<LabeledText>& rows) {
  std::vector<std::string> texts, pairs;
  for (const LabeledText& row : rows) {
    texts.push_back(row.text);
    pairs.push_back(row.pair.value_or(""));
  }
  return TextEncoder(setting).encode(texts, pairs);
}

}  // namespace

Classification::Classification(const Setting& setting, ProblemType problem) : problem_(problem) {
  switch (problem) {
    case ProblemType::single_label:
      read_single(setting);
      break;
    case ProblemType::multi_label:
      read_multiple(setting);
      break;
    case ProblemType::regression:
      read_numbers(setting);
  }
}

void Classification::read_single(const Setting& setting) {
  const std::vector<LabeledText> rows = read_classification(setting.files, table_options(setting));
  labels_ = choose_labels(setting, label_names(rows), problem_);
  texts_ = encode(setting, rows);
  for (const LabeledText& row : rows)
    targets_.push_back({static_cast<double>(label_number(labels_, row.labels.front(), row.place))});
}

void Classification::read_multiple(const Setting& setting) {
  const auto [rows, names] = read_multi_label(setting.files, table_options(setting));
  const std::size_t values = rows.front().values.size();
  labels_ = values > 0 ? choose_numbers(setting, values, problem_) : choose_labels(setting, names, problem_);
  if (values > 0 && values != labels_.names.size())
    fail("{}: expected {} numbers to a text, one for each label, found {}", fmt::join(setting.files, ", "),
         labels_.names.size(), values);
  texts_ = encode(setting, rows);
  for (const LabeledText& row : rows) {
    targets_.push_back(row.values);
    targets_.back().resize(labels_.names.size());
    for (const std::string& label : row.labels)
      targets_.back()[static_cast<std::size_t>(label_number(labels_, label, row.place))] = 1;
  }
}

void Classification::read_numbers(const Setting& setting) {
  const std::vector<LabeledText> rows = read_regression(setting.files, table_options(setting));
  const std::size_t values = rows.front().values.size();
  labels_ = choose_numbers(setting, values, problem_);
  if (values != labels_.names.size())
    fail("{}: expected {} numbers to a text, as many as the model predicts, found {}",
         fmt::join(setting.files, ", "), labels_.names.size(), values);
  texts_ = encode(setting, rows);
  for (const LabeledText& row : rows) targets_.push_back(row.values);
}

std::int64_t Classification::tokens(std::int64_t example) const {
  return static_cast<std::int64_t>(texts_[static_cast<std::size_t>(example)].ids.size());
}

Batch Classification::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<const EncodedText*> texts;
  std::vector<double> targets;
  for (const std::int64_t example : examples) {
    const auto i = static_cast<std::size_t>(example);
    texts.push_back(&texts_[i]);
    targets.insert(targets.end(), targets_[i].begin(), targets_[i].end());
  }
  Batch batch;
  batch.tokens = make_batch(texts);
  const Tensor numbers = ops::tensor(targets, kDouble);
  batch.labels = problem_ == ProblemType::single_label
                     ? numbers.to(kLong)                                  // [B]
                     : numbers.to(kFloat).view({batch.sequences(), -1});  // [B, labels]
  batch.counts = {batch.labels.numel()};
  return batch;
}

Losses Classification::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                              const LossOptions& options) const {
  Tensor hidden;
  const Tensor scores = text_scores(trainee.model(), batch.tokens, pass, &hidden);  // [B, labels]
  const Tensor labels = batch.labels;
  switch (problem_) {
    case ProblemType::single_label:
      return {{cross_entropy(scores, labels, options).sum}, scores, hidden};
    case ProblemType::multi_label:
      return {{sigmoid_cross_entropy(scores, labels).sum}, scores, hidden};
    case ProblemType::regression:
      return {{squared_error(scores, labels).sum}, scores, hidden};
  }
  fail("unknown problem type");
}

std::unique_ptr<Meter> Classification::meter() const {
  const auto labels = static_cast<std::int64_t>(labels_.names.size());
  switch (problem_) {
    case ProblemType::single_label:
      return single_label_meter(labels);
    case ProblemType::multi_label:
      return multi_label_meter(labels);
    case ProblemType::regression:
      return regression_meter();
  }
  fail("unknown problem type");
}

namespace {

template <ProblemType problem>
std::unique_ptr<Objective> make_classification(const Setting& setting) {
  return std::make_unique<Classification>(setting, problem);
}

}  // namespace

const ObjectiveKind kClassification = {
    .name = "classification",
    .summary = "one label for each text or pair: text, label; or text, text, label",
    .head = Head::sequence_classification,
    .fine_tunes = true,
    .make = make_classification<ProblemType::single_label>,
};
const ObjectiveKind kRegression = {
    .name = "regression",
    .summary = "a number for each text or pair",
    .head = Head::sequence_classification,
    .fine_tunes = true,
    .make = make_classification<ProblemType::regression>,
};
const ObjectiveKind kMultiLabel = {
    .name = "multi-label",
    .summary = "any number of labels for each text or pair",
    .head = Head::sequence_classification,
    .fine_tunes = true,
    .make = make_classification<ProblemType::multi_label>,
};

}  // namespace attend
