// Pictures of another size, exactly as Image.resize of Pillow 13 makes them. (Before 13, tall pictures differ
// in the last bit: there, the width always came first.)
#pragma once

#include "vision/image.h"

namespace attend {

// By Pillow's numbers, which preprocessor_config.json holds.
enum class Resampling { lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

Image resized(const Image& image, std::int64_t width, std::int64_t height, Resampling resampling);

}  // namespace attend
