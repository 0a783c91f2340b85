#include "vision/image.h"

#include "base/error.h"
#include "base/file.h"
#include "vision/orientation.h"

#include <csetjmp>
#include <cstdio>
#include <string>
#include <string_view>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

namespace attend {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

void resize_to(Image& image, std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || width > kMostPixels / height)
    throw Error("it has " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  image.width = width;
  image.height = height;
  image.pixels.resize(static_cast<std::size_t>(width * height * 3));
}

// Both libraries report an error by a long jump, which passes over destructors: everything that has one is
// made outside, and what was said is kept in `message`.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void jpeg_fails(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}

void jpeg_warns(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) jpeg_fails(info);  // half a file
}

// What reads the header, then rows, in two steps: between them the image gets its memory.
class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = jpeg_fails;
    errors_.manager.emit_message = jpeg_warns;
    if (setjmp(errors_.back) != 0) give_up();
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  std::int64_t width() const { return info_.output_width; }
  std::int64_t height() const { return info_.output_height; }
  void read(Image& image) {
    if (setjmp(errors_.back) != 0) throw Error(errors_.message);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = image.row(info_.output_scanline);
      jpeg_read_scanlines(&info_, &row, 1);
    }
  }
  int orientation() const {
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next)
      if (marker->marker == JPEG_APP0 + 1)
        if (const int found =
                exif_orientation({reinterpret_cast<const char*>(marker->data), marker->data_length}))
          return found;
    return 1;
  }

 private:
  [[noreturn]] void give_up() {
    jpeg_destroy_decompress(&info_);
    throw Error(errors_.message);
  }

  jpeg_decompress_struct info_{};
  JpegErrors errors_{};
};

Image read_jpeg(std::string_view bytes) {
  JpegReader reader(bytes);
  Image image;
  resize_to(image, reader.width(), reader.height());
  reader.read(image);
  return oriented(std::move(image), reader.orientation());
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
  }

 private:
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

Image read_png(std::string_view bytes) {
  PngReader reader(bytes);
  Image image;
  resize_to(image, reader.width(), reader.height());
  reader.read(image);
  return image;
}

}  // namespace

Image read_image(const std::filesystem::path& path) {
  const ErrorScope scope(ErrorKind::input);
  const std::string bytes = read_file(path);
  try {
    if (bytes.starts_with("\xFF\xD8\xFF")) return read_jpeg(bytes);
    if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return read_png(bytes);
  } catch (const Error& error) {
    fail("{}: cannot read this picture: {}", path.string(), error.what());
  }
  fail("{}: expected a picture, JPEG or PNG", path.string());
}

}  // namespace attend
