// One function for each format of pictures, in the file of its name; decode_image chooses among them. Error
// for damaged bytes, which does not name the picture.
#pragma once

#include "vision/image.h"

namespace attend {

// A black picture. Error for a size that is no picture's, which keeps a damaged header from taking all
// memory.
Image blank_image(std::int64_t width, std::int64_t height);

Image decode_jpeg(std::string_view bytes);
Image decode_png(std::string_view bytes);
Image decode_gif(std::string_view bytes);
Image decode_webp(std::string_view bytes);
Image decode_bmp(std::string_view bytes);
Image decode_tiff(std::string_view bytes);

}  // namespace attend
