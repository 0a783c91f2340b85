// Answers that are spans of a context (Rajpurkar et al. 2016, arXiv:1606.05250; with unanswerable questions,
// 2018, arXiv:1806.03822), as in Devlin et al. 2018, arXiv:1810.04805, section 4.2: each token has a score as
// the answer's start and one as its end. The loss is the mean of two cross-entropies over the tokens of one
// window, without padding. In a window without the answer the label is the token that means no answer.
#pragma once

#include "objectives/base/registry.h"
#include "objectives/shared/question_windows.h"

namespace attend {

class QuestionAnswering : public Objective {
 public:
  explicit QuestionAnswering(const Setting& setting);

  std::vector<Term> terms() const override { return {{"start", 0.5}, {"end", 0.5}}; }
  // An example is a window.
  std::int64_t examples() const override { return static_cast<std::int64_t>(windows_.windows().size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override;
  // A start and an end, which the originals call labels.
  std::optional<Labels> labels() const override { return Labels{{"LABEL_0", "LABEL_1"}, {}}; }

 private:
  QuestionWindows windows_;
};

}  // namespace attend
