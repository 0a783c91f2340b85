// GIF, with giflib: the first frame.
#include "base/error.h"
#include "vision/decoders.h"

#include <algorithm>
#include <array>
#include <memory>

#include <gif_lib.h>

namespace attend {
namespace {

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, CloseGif>;

int read_gif(GifFileType* gif, GifByteType* to, int count) {
  auto& rest = *static_cast<std::string_view*>(gif->UserData);
  const std::size_t some = rest.copy(reinterpret_cast<char*>(to), static_cast<std::size_t>(count));
  rest.remove_prefix(some);
  return static_cast<int>(some);
}

void check(const Gif& gif, int status) {
  if (status != GIF_ERROR) return;
  const char* const message = GifErrorString(gif->Error);
  throw Error(message == nullptr ? "damaged" : message);
}

// Reads up to the first frame. The colour that counts as transparent, or 0.
int find_frame(const Gif& gif) {
  int transparent = 0;
  for (;;) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    check(gif, DGifGetRecordType(gif.get(), &type));
    if (type == IMAGE_DESC_RECORD_TYPE) break;
    if (type == TERMINATE_RECORD_TYPE) fail("there is no picture in it");
    if (type != EXTENSION_RECORD_TYPE) continue;
    int code = 0;
    GifByteType* block = nullptr;
    check(gif, DGifGetExtension(gif.get(), &code, &block));
    while (block != nullptr) {
      if (code == GRAPHICS_EXT_FUNC_CODE && block[0] >= 4 && (block[1] & 1) != 0) transparent = block[4];
      check(gif, DGifGetExtensionNext(gif.get(), &block));
    }
  }
  check(gif, DGifGetImageDesc(gif.get()));
  return transparent;
}

using Colours = std::array<GifColorType, 256>;

// Colours missing in the table are grey, as in Pillow.
Colours colours_of(const Gif& gif) {
  Colours colours;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const auto grey = static_cast<GifByteType>(i);
    colours[i] = {grey, grey, grey};
  }
  const ColorMapObject* table = gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
  if (table != nullptr) std::copy_n(table->Colors, std::min(table->ColorCount, 256), colours.begin());
  return colours;
}

// Interlaced rows come in four passes.
std::vector<std::int64_t> row_order(std::int64_t height, bool interlaced) {
  constexpr std::array<std::array<int, 2>, 4> passes = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  std::vector<std::int64_t> rows;
  for (const auto& [first, step] : passes)
    for (std::int64_t y = interlaced ? first : static_cast<std::int64_t>(rows.size()); y < height;
         y += interlaced ? step : 1)
      rows.push_back(y);
  return rows;
}

}  // namespace

Image decode_gif(std::string_view bytes) {
  int error = 0;
  const Gif gif(DGifOpen(&bytes, read_gif, &error));
  if (!gif) throw Error(GifErrorString(error) == nullptr ? "damaged" : GifErrorString(error));
  const int background = find_frame(gif);
  const GifImageDesc& frame = gif->Image;
  Image image = blank_image(std::max(gif->SWidth, frame.Left + frame.Width),
                            std::max(gif->SHeight, frame.Top + frame.Height));
  const Colours colours = colours_of(gif);
  const auto paint = [&](std::uint8_t* to, std::size_t colour) {
    to[0] = colours[colour].Red;
    to[1] = colours[colour].Green;
    to[2] = colours[colour].Blue;
  };
  for (std::size_t i = 0; i < image.pixels.size(); i += 3)
    paint(&image.pixels[i], static_cast<std::size_t>(background));
  std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
  for (const std::int64_t y : row_order(frame.Height, frame.Interlace)) {
    check(gif, DGifGetLine(gif.get(), line.data(), frame.Width));
    std::uint8_t* to = image.row(frame.Top + y) + 3 * std::int64_t{frame.Left};
    for (std::size_t x = 0; x < line.size(); ++x) paint(to + 3 * x, line[x]);
  }
  return image;
}

}  // namespace attend
