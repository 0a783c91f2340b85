// Model directories with stored quantized matrices (docs/low-precision.md).
#pragma once

#include "models/checkpoint/pretrained_model.h"

namespace attend {

// The format in config.json's quantization_config. float32 without one, and for programs whose matrices are
// decoded (sources/prequantized/foreign_weights.h); an Error for other programs.
WeightFormat stored_format(const Fields& config);
// The matrices, by checkpoint name, that are stored in float32 anyway.
std::vector<std::string> stored_exceptions(const Fields& config);
// The suffixes of the names of the tensors that hold a matrix: "", "_scale", ...
std::vector<std::string> stored_parts(WeightFormat format);

// Writes a model that was loaded with such a format in `weights`, each file completely or not at all.
// config.json names the matrices that stay in float32.
void save_quantized(const PretrainedModel& model, const std::filesystem::path& directory);

}  // namespace attend
