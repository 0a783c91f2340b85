// Masked image modelling (Xie et al. 2021, "SimMIM", arXiv:2111.09886): random patches of a picture are
// hidden, and their pixels predicted; the mean of the absolute differences, as transformers'
// ViTForMaskedImageModeling.
#pragma once

#include "objectives/shared/pictures.h"

namespace attend {

class MaskedImages : public Objective {
 public:
  // Hides the recipe's mask_rate of the patches (default: 0.6, the paper's table 1): the same number in each
  // picture, rounded to nearest, at least one.
  explicit MaskedImages(const Setting& setting);

  std::int64_t examples() const override { return pictures_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return pictures_.patches(); }
  // Other patches in each epoch. A label is a hidden pixel's value in one channel.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  Pictures pictures_;
  std::int64_t hidden_;      // of each picture
  std::int64_t patch_size_;  // values in a patch
};

}  // namespace attend
