// Divides channels of very different size so that quantization works well (Xiao et al. 2022, "SmoothQuant",
// arXiv:2211.10438). If a norm feeds a matrix, the norm divides each channel by a factor and the matrix
// multiplies by it, and the model's result is unchanged.
#pragma once

#include "models/checkpoint/pretrained_model.h"

#include <filesystem>

namespace attend {

// For LoadOptions::factors: sqrt(largest input / largest weight) of each channel (the paper's alpha is 0.5),
// over the texts of `file` (read_texts_through), rounded to a power of 2. So results in float32 stay the same
// to the last bit. Throws Error for adapters, for stored quantized weights, and for a model whose norms are
// read by anything but matrices.
std::map<std::string, Tensor> smoothing_factors(const ModelDirectory& directory,
                                                const std::filesystem::path& file);

}  // namespace attend
