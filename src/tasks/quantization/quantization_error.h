// The quantization error of each matrix of a model, on the user's texts.
#pragma once

#include "models/checkpoint/pretrained_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

struct MatrixError {
  std::vector<std::string> names;  // names of the checkpoint's matrices that are one matrix in memory
  // sqrt(sum of squared differences / sum of squares) of its outputs over all tokens. Each matrix is measured
  // alone: its inputs are those of the float32 model.
  double error = 0;
};

// Over the texts of `file` (read_texts_through), the worst matrix first. Matrices that the texts never reach
// are left out. `format`: int8 or int4; `factors`: LoadOptions::factors, which do not change the float32
// model.
std::vector<MatrixError> measure_quantization(const ModelDirectory& directory, WeightFormat format,
                                              const std::filesystem::path& file,
                                              const std::map<std::string, Tensor>& factors = {});

}  // namespace attend
