// Masked image modelling (Xie et al. 2021, "SimMIM", arXiv:2111.09886): random patches of a picture are
// hidden, and their pixels predicted; the mean of the absolute differences, as transformers'
// ViTForMaskedImageModeling.
#pragma once

#include "objectives/pictures.h"

namespace attend {

class MaskedImages : public Objective {
 public:
  // Hides the recipe's mask_rate of the patches, else 0.6 (the paper's table 1), of each picture equally
  // many: the nearest number to it, one at least.
  explicit MaskedImages(const Setting& setting);

  std::int64_t examples() const override { return pictures_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return pictures_.patches(); }
  // Other patches in each epoch. A label is a hidden pixel's number in one channel.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  Pictures pictures_;
  std::int64_t hidden_;      // patches of each picture
  std::int64_t patch_size_;  // numbers in a patch
};

}  // namespace attend
