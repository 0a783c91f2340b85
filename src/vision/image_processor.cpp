#include "vision/image_processor.h"

#include "base/file.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::int64_t kLongestSide = 1 << 13;  // in pixels: no model reads that many

// A number for each channel, or one for all: [channels, 1, 1].
Tensor colours(const Fields& config, const char* name, std::int64_t channels) {
  const auto found = config.json().find(name);
  std::vector<float> values(static_cast<std::size_t>(channels), 0.5f);
  if (found != config.json().end() && !found->is_null()) {
    const Json list = found->is_array() ? *found : Json(Json::array_t(values.size(), *found));
    if (list.size() != values.size() ||
        !std::ranges::all_of(list, [](const Json& each) { return each.is_number(); }))
      fail("{}: {}: expected {} numbers, found {}", config.source(), name, values.size(), shown(*found));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = list[i].get<float>();
  }
  return ops::tensor(values).view({channels, 1, 1});
}

std::int64_t read_channels(const Fields& config) {
  const auto mean = config.json().find("image_mean");
  return mean != config.json().end() && mean->is_array() && mean->size() == 1 ? 1 : 3;
}

// As Pillow's convert("L"): the weights of ITU-R 601, in integers.
Tensor grey(const Image& image) {
  Tensor bytes = ops::empty({1, image.height, image.width}, kByte);
  auto* const out = bytes.data<std::uint8_t>();
  const std::uint8_t* rgb = image.pixels.data();
  for (std::int64_t i = 0; i < bytes.numel(); ++i, rgb += 3)
    out[i] = static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
  return bytes;
}

Resampling read_resampling(const Fields& config) {
  const std::int64_t number = config.integer({"resample"}, 2, 0, 5);
  if (number == 0) fail("{}: resample: 0, the nearest pixel, is not supported", config.source());
  return static_cast<Resampling>(number);
}

}  // namespace

ImageProcessor::ImageProcessor(const std::filesystem::path& model_directory) {
  const std::filesystem::path path = model_directory / "preprocessor_config.json";
  if (!file_exists(path)) fail("{}: a model of pictures needs this file, and it is missing", path.string());
  const Fields config(read_json(path), path.string());
  const std::string kind =
      config.text({"image_processor_type", "feature_extractor_type"}, "ViTImageProcessor");
  if (!kind.starts_with("ViTImageProcessor") && kind != "ViTFeatureExtractor")
    fail("{}: expected the image_processor_type ViTImageProcessor, found {}", path.string(), kind);
  if (config.flag({"do_resize"}, true)) {
    const auto size = config.json().find("size");
    if (size != config.json().end() && size->is_object()) {
      const Fields sides(*size, path.string() + ": size");
      size_ = {sides.integer({"width"}, {}, 1, kLongestSide), sides.integer({"height"}, {}, 1, kLongestSide)};
    } else {
      const std::int64_t side = config.integer({"size"}, 224, 1, kLongestSide);
      size_ = {side, side};
    }
    resampling_ = read_resampling(config);
  }
  channels_ = read_channels(config);
  if (config.flag({"do_rescale"}, true)) scale_ = config.number({"rescale_factor"}, 1.0 / 255);
  if (config.flag({"do_normalize"}, true))
    normalization_ = {colours(config, "image_mean", channels_), colours(config, "image_std", channels_)};
}

Tensor ImageProcessor::sized(const Image& image) const {
  const Image made = size_ ? resized(image, size_->width, size_->height, resampling_) : image;
  if (channels_ == 1) return grey(made);
  return ops::tensor(made.pixels).view({made.height, made.width, 3}).permute({2, 0, 1}).contiguous();
}

Tensor ImageProcessor::normalized(const Tensor& bytes) const {
  // The original scales in double precision and continues in single.
  Tensor pixels = scale_ ? (bytes.to(kDouble) * *scale_).to(kFloat) : bytes.to(kFloat);
  if (normalization_) pixels = (pixels - normalization_->first) / normalization_->second;
  return pixels.contiguous();
}

}  // namespace attend
