#include "vision/orientation.h"

#include <algorithm>
#include <utility>

namespace attend {

int exif_orientation(std::string_view block) {
  constexpr std::string_view head("Exif\0\0", 6);
  constexpr unsigned tag = 0x0112, short_type = 3, long_type = 4;
  while (block.starts_with(head)) block.remove_prefix(head.size());
  const std::string_view tiff = block;  // offsets count from here
  const bool little = tiff.starts_with(std::string_view("II*\0", 4));
  if (tiff.size() < 8 || (!little && !tiff.starts_with(std::string_view("MM\0*", 4)))) return 0;
  // 0 for a position outside the block.
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
    const std::size_t type = number(entry + 2, 2);
    if (number(entry, 2) != tag || (type != short_type && type != long_type)) continue;
    const std::size_t value = number(entry + 8, type == short_type ? 2 : 4);
    return value <= 8 ? static_cast<int>(value) : 0;
  }
  return 0;
}

int xmp_orientation(std::string_view xmp) {
  constexpr std::string_view name = "tiff:Orientation";
  for (std::size_t at = xmp.find(name); at != xmp.npos; at = xmp.find(name, at + 1)) {
    const std::string_view rest = xmp.substr(at + name.size());
    const std::size_t digit = rest.starts_with("=\"") ? 2 : rest.starts_with('>') ? 1 : rest.size();
    if (digit < rest.size() && rest[digit] >= '1' && rest[digit] <= '8') return rest[digit] - '0';
  }
  return 0;
}

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
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
