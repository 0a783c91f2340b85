// Pictures in files, as rows of red, green and blue: JPEG, PNG, GIF, WebP, BMP and TIFF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]

  std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 3; }
  const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * width * 3; }
};

// "JPEG, PNG, GIF, WebP, BMP or TIFF": for messages.
extern const char* const kImageFormats;
// Whether a file's name has the ending of one of these formats.
bool has_image_ending(const std::filesystem::path& path);

// Decodes a picture file as Pillow does: the first frame of several, without transparency, rotated upright by
// its EXIF or XMP orientation. Of 16-bit samples the high 8 bits are used. Throws Error, starting with
// `name`, for an unsupported format or damaged data.
Image decode_image(std::string_view bytes, const std::string& name);
// The same of a file.
Image read_image(const std::filesystem::path& path);

}  // namespace attend
