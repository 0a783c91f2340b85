// Labels of pictures (Dosovitskiy et al. 2020, "An image is worth 16x16 words", arXiv:2010.11929):
// cross-entropy, as transformers' ViTForImageClassification.
#pragma once

#include "objectives/shared/pictures.h"

namespace attend {

class ImageClassification : public Objective {
 public:
  // If the setting has no labels, they are taken from the data. Throws Error for pictures without labels.
  explicit ImageClassification(const Setting& setting);

  std::int64_t examples() const override { return pictures_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return pictures_.patches(); }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override;
  std::optional<Labels> labels() const override { return labels_; }

 private:
  Pictures pictures_;
  Labels labels_;
  std::vector<std::int64_t> targets_;
};

}  // namespace attend
