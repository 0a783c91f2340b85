// BMP, with stb_image.
#include "base/error.h"
#include "vision/decoders.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>

#include <stb/stb_image.h>

namespace attend {
namespace {

// The library fills missing data at the end with black.
void check_whole(std::string_view bytes, const Image& image) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i > 0; --i)
      value = value << 8 | (at + i <= bytes.size() ? static_cast<unsigned char>(bytes[at + i - 1]) : 0);
    return value;
  };
  const std::uint64_t pixels = number(10, 4), bits = number(number(14, 4) == 12 ? 24 : 28, 2);
  const std::uint64_t row = (static_cast<std::uint64_t>(image.width) * bits + 31) / 32 * 4;
  if (pixels + row * static_cast<std::uint64_t>(image.height) > bytes.size()) fail("the file ends early");
}

}  // namespace

Image decode_bmp(std::string_view bytes) {
  if (bytes.size() > INT_MAX) fail("it has more than 2 GiB");
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  // Its sizes first: they decide about memory.
  if (stbi_info_from_memory(data, size, &width, &height, &channels) == 0) throw Error(stbi_failure_reason());
  Image image = blank_image(width, std::abs(height));  // below 0 where the top row comes first
  check_whole(bytes, image);
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 3), &stbi_image_free);
  if (!pixels) throw Error(stbi_failure_reason());
  if (width != image.width || height != image.height) fail("it is damaged");
  std::copy_n(pixels.get(), image.pixels.size(), image.pixels.begin());
  return image;
}

}  // namespace attend
