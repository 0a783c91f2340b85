// Model directories with stored quantized matrices (docs/low-precision.md).
#pragma once

#include "models/pretrained_model.h"

namespace attend {

// What config.json's quantization_config says; float32 without one, and for the programs whose matrices are
// decoded (formats/foreign_weights.h). Error for another program's.
WeightFormat stored_format(const Fields& config);
// The matrices, by checkpoint name, that are stored in float32 all the same.
std::vector<std::string> stored_exceptions(const Fields& config);
// What follows the name of a matrix in the names of the tensors that hold it: "", "_scale", ...
std::vector<std::string> stored_parts(WeightFormat format);

// Writes a model that was loaded with `weights` of such a format, each file complete or not at all; matrices
// that it keeps in float32 are named in config.json.
void save_quantized(const PretrainedModel& model, const std::filesystem::path& directory);

}  // namespace attend
