// PNG, with libpng.
#include "base/error.h"
#include "vision/decoders.h"
#include "vision/orientation.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <new>
#include <string>

#include <png.h>

namespace attend {
namespace {

// EXIF that ImageMagick wrote before PNG had a chunk for it: three lines, then hexadecimal digits.
std::string raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::string bytes;
  int high = -1;
  for (const char digit : text) {
    const auto at = std::string_view("0123456789abcdef").find(digit);
    if (at == std::string_view::npos) continue;
    if (high < 0) {
      high = static_cast<int>(at);
    } else {
      bytes += static_cast<char>(high << 4 | static_cast<int>(at));
      high = -1;
    }
  }
  return bytes;
}

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fails, ignores);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) throw std::bad_alloc();
    if (setjmp(back_) != 0) give_up();
    png_set_read_fn(png_, this, reads);
    png_read_info(png_, info_);
    png_set_expand(png_);  // palettes, and grey of less than 8 bits
    png_set_strip_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  void read(Image& image) {
    if (setjmp(back_) != 0) throw Error(message_);
    for (int pass = 0; pass < passes_; ++pass)
      for (std::int64_t y = 0; y < image.height; ++y) png_read_row(png_, image.row(y), nullptr);
    png_read_end(png_, info_);
  }
  // Call it after read: metadata may be at the end of the file.
  int orientation() const {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info_, &size, &exif) != 0)
      if (const int found = exif_orientation({reinterpret_cast<const char*>(exif), size})) return found;
    png_textp texts = nullptr;
    int count = 0;
    std::string_view xmp;
    png_get_text(png_, info_, &texts, &count);
    for (int i = 0; i < count; ++i) {
      const std::string_view key(texts[i].key);
      const std::string_view text =
          texts[i].text == nullptr ? std::string_view() : std::string_view(texts[i].text);
      if (key == "XML:com.adobe.xmp")
        xmp = text;
      else if (key == "Raw profile type exif")
        if (const int found = exif_orientation(raw_profile(text))) return found;
    }
    return xmp_orientation(xmp);
  }

 private:
  // As in jpeg.cpp, an error is a long jump.
  static void fails(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(reader->message_, sizeof reader->message_, "%s", message);
    std::longjmp(reader->back_, 1);
  }
  static void ignores(png_structp, png_const_charp) {}
  static void reads(png_structp png, png_bytep to, png_size_t count) {
    std::string_view& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (count > rest.size()) png_error(png, "the file ends early");
    rest.copy(reinterpret_cast<char*>(to), count);
    rest.remove_prefix(count);
  }
  [[noreturn]] void give_up() {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw Error(message_);
  }

  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::jmp_buf back_;
  char message_[200] = {};
};

}  // namespace

Image decode_png(std::string_view bytes) {
  PngReader reader(bytes);
  Image image = blank_image(reader.width(), reader.height());
  reader.read(image);
  return oriented(std::move(image), reader.orientation());
}

}  // namespace attend
