// Answers that are better than others (Rafailov et al. 2023, "Direct preference optimization",
// arXiv:2305.18290). An answer's reward is beta times the difference of its log-probabilities under the model
// and under the reference. The better answer should have the higher reward. Losses, with d = reward of the
// chosen answer - reward of the rejected one:
// - sigmoid: -log sigmoid(d); with label smoothing e, a fraction e of the pairs is assumed to be swapped
//   (cDPO);
// - robust: the same without its bias (Chowdhury et al. 2024, arXiv:2403.00409);
// - hinge: max(0, 1 - d) (Zhao et al. 2023, arXiv:2305.10425);
// - ipo: (d / beta - 1 / (2 beta))^2 of rewards per token (Azar et al. 2023, arXiv:2310.12036).
// The reference is a separate model (Trainee::reference), or the model without its adapter.
#pragma once

#include "objectives/shared/taught_text.h"

namespace attend {

enum class PreferenceLoss { sigmoid, robust, hinge, ipo };
PreferenceLoss parse_preference_loss(std::string_view name);  // throws Error that lists the names

class Preferences : public Objective {
 public:
  // Reads prompts with two answers (data/conversations.h). Pairs that lose a whole answer by truncation are
  // left out, with a warning.
  explicit Preferences(const Setting& setting);

  // The loss, and metrics under trl's names.
  std::vector<Term> terms() const override;
  std::int64_t examples() const override { return std::ssize(pairs_); }
  std::int64_t tokens(std::int64_t example) const override;
  // Each chosen answer with its prompt, then the rejected one; groups of two.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  Tensor loss_of(const Tensor& ratios, const Batch& batch) const;

  struct Pair {
    TaughtTokens chosen, rejected;
  };
  std::vector<Pair> pairs_;
  PreferenceLoss loss_;
  double beta_, smoothing_;
};

}  // namespace attend
