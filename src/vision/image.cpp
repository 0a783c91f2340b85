#include "vision/image.h"

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "vision/decoders.h"

#include <algorithm>
#include <string>

namespace attend {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

struct ImageFormat {
  bool (*recognizes)(std::string_view bytes);
  Image (*decode)(std::string_view bytes);
};

bool is_tiff(std::string_view bytes) {  // in either byte order, of up to 4 GiB or of more
  constexpr std::string_view heads[] = {{"II*\0", 4}, {"MM\0*", 4}, {"II+\0", 4}, {"MM\0+", 4}};
  return std::ranges::find(heads, bytes.substr(0, 4)) != std::end(heads);
}

constexpr ImageFormat kFormats[] = {
    {[](std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }, decode_jpeg},
    {[](std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1A\n"); }, decode_png},
    {[](std::string_view bytes) { return bytes.starts_with("GIF8"); }, decode_gif},
    {[](std::string_view bytes) { return bytes.starts_with("RIFF") && bytes.find("WEBP") == 8; },
     decode_webp},
    {[](std::string_view bytes) { return bytes.starts_with("BM"); }, decode_bmp},
    {is_tiff, decode_tiff},
};

}  // namespace

const char* const kImageFormats = "JPEG, PNG, GIF, WebP, BMP or TIFF";

bool has_image_ending(const std::filesystem::path& path) {
  constexpr std::string_view endings[] = {".jpg", ".jpeg", ".jpe", ".jfif", ".png",
                                          ".gif", ".webp", ".bmp", ".tif",  ".tiff"};
  return std::ranges::find(endings, ascii_lowercase(path.extension().string())) != std::end(endings);
}

Image blank_image(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || width > kMaxPixels / height)
    fail("expected at most {} pixels, found {} x {}", kMaxPixels, width, height);
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3))};
}

Image decode_image(std::string_view bytes, const std::string& name) {
  const ErrorScope scope(ErrorKind::input);
  for (const auto& [recognizes, decode] : kFormats) {
    if (!recognizes(bytes)) continue;
    try {
      return decode(bytes);
    } catch (const Error& error) {
      fail("{}: cannot read this picture: {}", name, error.what());
    }
  }
  fail("{}: expected a picture ({}), found {}", name, kImageFormats,
       bytes.empty() ? "nothing" : "something else");
}

Image read_image(const std::filesystem::path& path) {
  const ErrorScope scope(ErrorKind::input);
  return decode_image(read_file(path), path.string());
}

}  // namespace attend
