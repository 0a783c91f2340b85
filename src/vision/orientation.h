// How a camera was held (EXIF, tag 0x0112), and pictures turned upright again.
#pragma once

#include "vision/image.h"

#include <string_view>

namespace attend {

// 1 to 8; 0 where the segment does not say.
int exif_orientation(std::string_view segment);
// 1: upright; 2 to 8: mirrored, turned, or both.
Image oriented(Image image, int orientation);

}  // namespace attend
