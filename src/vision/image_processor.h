// From pictures to model inputs: preprocessor_config.json, as in transformers' ViTImageProcessor.
#pragma once

#include "formats/json/json.h"
#include "tensor/tensor.h"
#include "vision/resize.h"

#include <optional>

namespace attend {

class ImageProcessor {
 public:
  // Error for a preprocessor_config.json of another kind.
  explicit ImageProcessor(const std::filesystem::path& model_directory);
  Tensor operator()(const Image& image) const {
    return normalized(sized(image));
  }  // [channels, height, width]

  // Its two halves: in the size that the model reads, as bytes [channels, height, width]; and the numbers of
  // such bytes [..., channels, height, width]. The first can be kept in a quarter of the memory.
  Tensor sized(const Image& image) const;
  Tensor normalized(const Tensor& bytes) const;

  // 3, or 1 where image_mean is of one number: pictures become grey then.
  std::int64_t channels() const { return channels_; }

 private:
  struct Size {
    std::int64_t width, height;
  };
  std::optional<Size> size_;  // nothing: pictures stay as large as they are
  Resampling resampling_ = Resampling::bilinear;
  std::optional<double> scale_;
  std::optional<std::pair<Tensor, Tensor>>
      normalization_;  // mean and standard deviation, [channels, 1, 1] each
  std::int64_t channels_ = 3;
};

}  // namespace attend
