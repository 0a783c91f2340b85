// WebP, with libwebp: the first frame.
#include "base/error.h"
#include "vision/decoders.h"
#include "vision/orientation.h"

#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

namespace attend {
namespace {

struct CloseWebp {
  void operator()(WebPDemuxer* file) const { WebPDemuxDelete(file); }
};

std::string_view webp_chunk(const WebPDemuxer* file, const char* name) {
  WebPChunkIterator chunk;
  std::string_view bytes;
  // The bytes are the file's own, so they outlive the iterator.
  if (WebPDemuxGetChunk(file, name, 1, &chunk) != 0)
    bytes = {reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size};
  WebPDemuxReleaseChunkIterator(&chunk);
  return bytes;
}

}  // namespace

Image decode_webp(std::string_view bytes) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  const std::unique_ptr<WebPDemuxer, CloseWebp> file(WebPDemux(&data));
  if (!file) fail("it is damaged, or ends early");
  Image image = blank_image(WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_WIDTH),
                            WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_HEIGHT));
  WebPIterator frame;
  if (WebPDemuxGetFrame(file.get(), 1, &frame) == 0) fail("there is no picture in it");
  const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> release(&frame,
                                                                                   &WebPDemuxReleaseIterator);
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.x_offset + frame.width > image.width ||
      frame.y_offset + frame.height > image.height)
    fail("its first frame is larger than the picture");
  std::uint8_t* const corner = image.row(frame.y_offset) + 3 * std::int64_t{frame.x_offset};
  const auto room = static_cast<std::size_t>(image.pixels.data() + image.pixels.size() - corner);
  if (WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, corner, room,
                        static_cast<int>(3 * image.width)) == nullptr)
    fail("it is damaged");
  const int exif = exif_orientation(webp_chunk(file.get(), "EXIF"));
  return oriented(std::move(image), exif != 0 ? exif : xmp_orientation(webp_chunk(file.get(), "XMP ")));
}

}  // namespace attend
