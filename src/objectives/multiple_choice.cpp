#include "objectives/multiple_choice.h"

#include "data/choices.h"
#include "metrics/metric.h"
#include "nn/losses/label_loss.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/meters.h"
#include "objectives/shared/text_scores.h"

namespace attend {
namespace {

// How often the right choice has the highest score.
class ChoiceMeter : public Meter {
 public:
  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor host = scores;
    for (std::int64_t q = 0; q < batch.groups.count(); ++q) {
      const auto chosen = batch.groups.part(host, q).argmax().item<std::int64_t>();
      right_ += chosen == batch.labels[q].item<std::int64_t>() ? 1 : 0;
    }
    questions_ += static_cast<double>(batch.groups.count());
  }
  std::vector<Score> scores() const override {
    return to_scores({{"accuracy", quotient(right_, questions_)}});
  }

 private:
  double right_ = 0, questions_ = 0;
};

}  // namespace

MultipleChoice::MultipleChoice(const Setting& setting) {
  if (setting.recipe.label_smoothing > 0) fail("`label_smoothing`: not with `objective` multiple-choice");
  std::vector<std::string> first, second;
  for (const ChoiceQuestion& question : read_choices(setting.files, table_options(setting))) {
    const std::size_t begin = first.size();
    for (const std::string& choice : question.choices) {
      first.push_back(question.context ? *question.context : question.question);
      second.push_back(question.context ? question.question + " " + choice : choice);
    }
    questions_.push_back({begin, first.size(), static_cast<std::int64_t>(question.label)});
  }
  texts_ = TextEncoder(setting).encode(first, second);
}

std::int64_t MultipleChoice::tokens(std::int64_t example) const {
  const Question& question = questions_[static_cast<std::size_t>(example)];
  std::size_t sum = 0;
  for (std::size_t i = question.begin; i < question.end; ++i) sum += texts_[i].ids.size();
  return static_cast<std::int64_t>(sum);
}

Batch MultipleChoice::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<const EncodedText*> texts;
  std::vector<std::int64_t> choices, labels;
  for (const std::int64_t example : examples) {
    const Question& question = questions_[static_cast<std::size_t>(example)];
    for (std::size_t i = question.begin; i < question.end; ++i) texts.push_back(&texts_[i]);
    choices.push_back(static_cast<std::int64_t>(question.end - question.begin));
    labels.push_back(question.label);
  }
  Batch batch;
  batch.tokens = make_batch(texts);
  batch.groups = Offsets(choices);
  batch.labels = ops::tensor(labels, kLong);  // [questions]
  batch.counts = {batch.labels.numel()};
  return batch;
}

Losses MultipleChoice::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                              const LossOptions& options) const {
  const Tensor scores = text_scores(trainee.model(), batch.tokens, pass).squeeze(1);  // [texts]
  return {{choice_cross_entropy(scores, batch.groups, batch.labels).sum}, scores};
}

std::unique_ptr<Meter> MultipleChoice::meter() const {
  return std::make_unique<ChoiceMeter>();
}

const ObjectiveKind kMultipleChoice = {
    .name = "multiple-choice",
    .summary =
        "the right one of several answers: JSON lines with question, choices, label and optionally context",
    .head = Head::multiple_choice,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<MultipleChoice>(setting);
    },
};

}  // namespace attend
