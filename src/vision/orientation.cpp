#include "vision/orientation.h"

#include <algorithm>
#include <utility>

namespace attend {

int exif_orientation(std::string_view segment) {
  constexpr std::string_view head("Exif\0\0", 6);
  constexpr unsigned tag = 0x0112, short_type = 3;
  if (!segment.starts_with(head)) return 0;
  const std::string_view tiff = segment.substr(head.size());  // offsets count from here
  if (tiff.size() < 8) return 0;
  const bool little = tiff.starts_with("II");
  // Of a place outside the segment: 0.
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes && at + bytes <= tiff.size(); ++i)
      value = value << 8 | static_cast<unsigned char>(tiff[little ? at + bytes - 1 - i : at + i]);
    return value;
  };
  const std::size_t first = number(4, 4), count = number(first, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = first + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 0;
    if (number(entry, 2) != tag || number(entry + 2, 2) != short_type) continue;
    const std::size_t value = number(entry + 8, 2);
    return value <= 8 ? static_cast<int>(value) : 0;
  }
  return 0;
}

Image oriented(Image image, int orientation) {
  if (orientation < 2) return image;
  // 5 to 8 swap the axes; then these are mirrored.
  const bool swap = orientation > 4;
  const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image turned;
  turned.width = swap ? image.height : image.width;
  turned.height = swap ? image.width : image.height;
  turned.pixels.resize(image.pixels.size());
  for (std::int64_t y = 0; y < turned.height; ++y)
    for (std::int64_t x = 0; x < turned.width; ++x) {
      const std::int64_t u = mirror_x ? turned.width - 1 - x : x, v = mirror_y ? turned.height - 1 - y : y;
      const std::uint8_t* from = swap ? image.row(u) + v * 3 : image.row(v) + u * 3;
      std::copy_n(from, 3, turned.row(y) + x * 3);
    }
  return turned;
}

}  // namespace attend
