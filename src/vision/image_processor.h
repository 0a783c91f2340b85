// From pictures to what a model reads: preprocessor_config.json, as transformers' ViTImageProcessor takes it.
#pragma once

#include "formats/json.h"
#include "nn/torch.h"
#include "vision/resize.h"

#include <optional>

namespace attend {

class ImageProcessor {
 public:
  // Error for a preprocessor_config.json of another kind.
  explicit ImageProcessor(const std::filesystem::path& model_directory);
  Tensor operator()(const Image& image) const;  // [3, height, width]

 private:
  struct Size {
    std::int64_t width, height;
  };
  std::optional<Size> size_;  // nothing: pictures stay as large as they are
  Resampling resampling_ = Resampling::bilinear;
  std::optional<double> scale_;
  std::optional<std::pair<Tensor, Tensor>> normalization_;  // mean and standard deviation, [3, 1, 1] each
};

}  // namespace attend
