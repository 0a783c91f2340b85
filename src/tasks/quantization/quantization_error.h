// The quantization error of each matrix of a model, on the user's texts.
#pragma once

#include <attend/convert.h>

#include "models/checkpoint/pretrained_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

// Over the texts of `file` (read_texts_through), the worst matrix first. Matrices that the texts never reach
// are left out. `format`: int8 or int4; `factors`: LoadOptions::factors, which do not change the float32
// model.
std::vector<MatrixError> measure_quantization(const ModelDirectory& directory, WeightFormat format,
                                              const std::filesystem::path& file,
                                              const std::map<std::string, Tensor>& factors = {});

}  // namespace attend
