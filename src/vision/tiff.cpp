// TIFF, with libtiff: the first page.
#include "base/error.h"
#include "vision/decoders.h"
#include "vision/orientation.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include <tiffio.h>

namespace attend {
namespace {

// A file in memory, for the library's read callbacks, and its last error message.
struct TiffBytes {
  std::string_view bytes;
  std::uint64_t at = 0;
  char message[200] = "it is damaged";
};

TiffBytes& tiff_bytes(thandle_t handle) {
  return *static_cast<TiffBytes*>(handle);
}

tmsize_t read_tiff(thandle_t handle, void* to, tmsize_t count) {
  TiffBytes& file = tiff_bytes(handle);
  const std::string_view rest = file.bytes.substr(std::min<std::uint64_t>(file.at, file.bytes.size()));
  const std::size_t some = rest.copy(static_cast<char*>(to), static_cast<std::size_t>(count));
  file.at += some;
  return static_cast<tmsize_t>(some);
}

toff_t seek_tiff(thandle_t handle, toff_t offset, int from) {
  TiffBytes& file = tiff_bytes(handle);
  file.at = offset + (from == SEEK_CUR ? file.at : from == SEEK_END ? file.bytes.size() : 0);
  return file.at;
}

int keep_message(TIFF*, void* file, const char*, const char* format, va_list arguments) {
  auto& message = static_cast<TiffBytes*>(file)->message;
  std::vsnprintf(message, sizeof message, format, arguments);
  return 1;  // suppress the library's own output
}

int ignore_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* file) const { TIFFClose(file); }
};
using Tiff = std::unique_ptr<TIFF, CloseTiff>;

Tiff open_tiff(TiffBytes& bytes) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                 &TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_message, &bytes);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 30);
  return Tiff(TIFFClientOpenExt(
      "picture", "rm", &bytes, read_tiff, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, seek_tiff,
      [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return tiff_bytes(handle).bytes.size(); },
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {}, options.get()));
}

// The library's conversion to RGBA, where Pillow's differs from it.
void convert_as_pillow(TIFFRGBAImage& reader) {
  reader.orientation = reader.req_orientation = ORIENTATION_TOPLEFT;  // as stored; turned afterwards
  if (reader.UaToAa != nullptr)                                       // transparency leaves colours alone
    for (int alpha = 0; alpha < 256; ++alpha)
      for (int value = 0; value < 256; ++value)
        reader.UaToAa[alpha << 8 | value] = static_cast<std::uint8_t>(value);
  if (reader.Bitdepth16To8 != nullptr)  // the high byte
    for (int value = 0; value < 65536; ++value)
      reader.Bitdepth16To8[value] = static_cast<std::uint8_t>(value >> 8);
}

std::uint8_t without_alpha(std::uint32_t colour, std::uint32_t alpha) {
  return static_cast<std::uint8_t>(alpha == 0 ? colour : std::min(255U, colour * 255 / alpha));
}

Image read_page(TIFF* file, const TiffBytes& bytes) {
  std::uint32_t width = 0, height = 0;
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &height);
  Image image = blank_image(width, height);
  char message[1024] = {};
  TIFFRGBAImage reader;
  if (TIFFRGBAImageBegin(&reader, file, 1, message) == 0) throw Error(message);
  const std::unique_ptr<TIFFRGBAImage, decltype(&TIFFRGBAImageEnd)> end(&reader, &TIFFRGBAImageEnd);
  convert_as_pillow(reader);
  std::vector<std::uint32_t> raster(image.pixels.size() / 3);
  if (TIFFRGBAImageGet(&reader, raster.data(), width, height) == 0) throw Error(bytes.message);
  const bool premultiplied = reader.alpha == EXTRASAMPLE_ASSOCALPHA;
  std::uint8_t* to = image.pixels.data();
  for (const std::uint32_t pixel : raster) {
    const std::uint32_t alpha = premultiplied ? TIFFGetA(pixel) : 255;
    *to++ = without_alpha(TIFFGetR(pixel), alpha);
    *to++ = without_alpha(TIFFGetG(pixel), alpha);
    *to++ = without_alpha(TIFFGetB(pixel), alpha);
  }
  return image;
}

}  // namespace

Image decode_tiff(std::string_view bytes) {
  TiffBytes source{bytes};
  const Tiff file = open_tiff(source);
  if (!file) throw Error(source.message);
  Image image = read_page(file.get(), source);
  std::uint16_t orientation = ORIENTATION_TOPLEFT;
  TIFFGetField(file.get(), TIFFTAG_ORIENTATION, &orientation);
  return oriented(std::move(image), orientation);
}

}  // namespace attend
