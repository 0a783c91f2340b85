// Fine-tuning on labels of whole texts or pairs (Devlin et al. 2018, arXiv:1810.04805, section 4.1): one
// label of several (cross-entropy), numbers (squared error), or several labels at once (binary
// cross-entropy), with the losses of transformers' ...ForSequenceClassification.
#pragma once

#include "objectives/base/registry.h"
#include "objectives/shared/text_encoder.h"

namespace attend {

class Classification : public Objective {
 public:
  // `problem` selects one of the three. If the setting has no labels, they are taken from the data.
  Classification(const Setting& setting, ProblemType problem);

  std::int64_t examples() const override { return static_cast<std::int64_t>(texts_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override;
  std::optional<Labels> labels() const override { return labels_; }

 private:
  void read_single(const Setting& setting);
  void read_multiple(const Setting& setting);
  void read_numbers(const Setting& setting);

  ProblemType problem_;
  Labels labels_;
  std::vector<EncodedText> texts_;
  std::vector<std::vector<double>> targets_;  // of each text: its label's index, or a value per score
};

}  // namespace attend
