// Pictures in files: JPEG and PNG, to rows of red, green and blue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace attend {

struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]

  std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 3; }
  const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * width * 3; }
};

// As Pillow reads it: transparency is dropped, a camera's note on how it was held (EXIF) is followed. Error,
// naming the file, if it is neither or damaged.
Image read_image(const std::filesystem::path& path);

}  // namespace attend
