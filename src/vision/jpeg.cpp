// JPEG, with libjpeg.
#include "base/error.h"
#include "vision/decoders.h"
#include "vision/orientation.h"

#include <csetjmp>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

namespace attend {
namespace {

// The library reports errors by a long jump, which skips destructors. So all objects with destructors are
// created outside, and the message is kept here.
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

// Reads the header, then rows, in two steps: between them the image gets its memory.
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
    // The library makes no RGB of four channels.
    info_.out_color_space = four_channels() ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  std::int64_t width() const { return info_.output_width; }
  std::int64_t height() const { return info_.output_height; }
  bool four_channels() const {
    return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  }
  // `row` is memory for one row in the file's channels.
  void read(Image& image, std::uint8_t* row) {
    if (setjmp(errors_.back) != 0) throw Error(errors_.message);
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* out = image.row(info_.output_scanline);
      JSAMPROW to = four_channels() ? row : out;
      jpeg_read_scanlines(&info_, &to, 1);
      if (four_channels()) from_cmyk(row, out);
    }
  }
  int orientation() const {
    std::string_view xmp;
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      constexpr std::string_view head("http://ns.adobe.com/xap/1.0/\0", 29);
      if (data.starts_with(head))
        xmp = data.substr(head.size());
      else if (const int found = exif_orientation(data))
        return found;
    }
    return xmp_orientation(xmp);
  }

 private:
  // As in Pillow: the numbers are always read as Adobe writes them (255: no ink).
  void from_cmyk(const std::uint8_t* from, std::uint8_t* to) const {
    for (std::int64_t x = 0; x < width(); ++x, from += 4, to += 3)
      for (int channel = 0; channel < 3; ++channel) {
        const int product = (255 - from[channel]) * from[3] + 128;
        to[channel] = static_cast<std::uint8_t>(from[3] - (((product >> 8) + product) >> 8));
      }
  }
  [[noreturn]] void give_up() {
    jpeg_destroy_decompress(&info_);
    throw Error(errors_.message);
  }

  jpeg_decompress_struct info_{};
  JpegErrors errors_{};
};

}  // namespace

Image decode_jpeg(std::string_view bytes) {
  JpegReader reader(bytes);
  Image image = blank_image(reader.width(), reader.height());
  std::vector<std::uint8_t> row(static_cast<std::size_t>(reader.width() * 4));
  reader.read(image, row.data());
  return oriented(std::move(image), reader.orientation());
}

}  // namespace attend
