// BMP, with stb_image.
#include "base/error.h"
#include "vision/decoders.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>

#include <stb/stb_image.h>

namespace attend {

Image decode_bmp(std::string_view bytes) {
  if (bytes.size() > INT_MAX) fail("it has more than 2 GiB");
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  // Its sizes first: they decide about memory.
  if (stbi_info_from_memory(data, size, &width, &height, &channels) == 0) throw Error(stbi_failure_reason());
  Image image = blank_image(width, std::abs(height));  // below 0 where the top row comes first
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 3), &stbi_image_free);
  if (!pixels) throw Error(stbi_failure_reason());
  if (width != image.width || height != image.height) fail("it is damaged");
  std::copy_n(pixels.get(), image.pixels.size(), image.pixels.begin());
  return image;
}

}  // namespace attend
