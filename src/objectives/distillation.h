// A student learns from its teacher's outputs in addition to the labels (Hinton et al. 2015, "Distilling the
// knowledge in a neural network", arXiv:1503.02531; Sanh et al. 2019, "DistilBERT", arXiv:1910.01108). The
// terms:
// - those of the objective itself, with Recipe::hard_weight; "loss" is called labels here;
// - soft_targets, with soft_weight: the teacher's distribution over labels or over the vocabulary at
//   Recipe::temperature (nn/losses/distillation.h), for the rows that have a label. For numbers and for
//   several labels at once, whose scores are not a distribution, the squared error of the scores (Ba &
//   Caruana 2013, arXiv:1312.6184);
// - hidden_states, with hidden_weight: 1 minus the cosine of both models' last hidden states, for all tokens.
// The teacher is a model, or a file with its scores of the data's examples (stored_scores.h).
#pragma once

#include "objectives/base/registry.h"
#include "objectives/shared/stored_scores.h"

#include <variant>

namespace attend {

// The recipe's teacher with the objective's head. Throws Error if it was not trained for that objective,
// reads other tokens than the student, or has another width while hidden states are learned.
PretrainedModel load_teacher(const Setting& student, const ObjectiveKind& kind);
// The labels of a teacher, in its order; none if it has no labels or no names for them.
std::optional<Labels> taught_labels(const PretrainedModel& teacher);

// The objective of a student, with its teacher: labels are the teacher's, and texts have token types if
// either model takes them.
std::unique_ptr<Objective> distil(const ObjectiveKind& kind, const Setting& student);

class Distillation : public Objective {
 public:
  using Teacher = std::variant<Trainee, StoredScores>;

  // Throws Error if the objective has no scores over labels or a vocabulary, or has another number of labels
  // or examples.
  Distillation(const Recipe& recipe, const ObjectiveKind& kind, std::unique_ptr<Objective> objective,
               Teacher teacher);

  std::vector<Term> terms() const override;
  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override { objective_->begin_epoch(seed, epoch); }
  std::int64_t examples() const override { return objective_->examples(); }
  std::int64_t tokens(std::int64_t example) const override { return objective_->tokens(example); }
  std::vector<std::vector<std::int64_t>> batches(const BatchSize& size, std::uint64_t seed,
                                                 std::int64_t epoch, bool shuffled) const override {
    return objective_->batches(size, seed, epoch, shuffled);
  }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override { return objective_->meter(); }
  Sharing sharing() const override { return objective_->sharing(); }
  std::optional<Labels> labels() const override { return objective_->labels(); }
  std::optional<std::pair<double, double>> score_range() const override { return objective_->score_range(); }

 private:
  Losses ask_teacher(const Batch& batch, const Pass& pass) const;
  Tensor soft_targets(Trainee& trainee, const Batch& batch, const Losses& student,
                      const Losses& taught) const;
  Tensor hidden_states(const Batch& batch, const Losses& student, const Losses& taught) const;

  std::unique_ptr<Objective> objective_;
  Teacher teacher_;
  bool vocabulary_;  // scores are over the vocabulary, not over labels
  double temperature_, soft_weight_, hard_weight_, hidden_weight_;
};

}  // namespace attend
