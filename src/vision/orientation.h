// How a camera was held (EXIF, tag 0x0112; XMP, tiff:Orientation), and pictures turned upright again.
#pragma once

#include "vision/image.h"

#include <string_view>

namespace attend {

// 1 to 8; 0 where the block does not say. `block` is EXIF data, with or without the head "Exif\0\0".
int exif_orientation(std::string_view block);
// The same of XMP, which is XML.
int xmp_orientation(std::string_view xmp);
// 1: upright; 2 to 8: mirrored, turned, or both; others are taken for 1.
Image oriented(Image image, int orientation);

}  // namespace attend
