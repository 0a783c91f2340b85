// What quantizing each matrix of a model does to texts of the user's own.
#pragma once

#include "models/model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

struct MatrixError {
  std::vector<std::string> names;  // of the checkpoint's matrices that are one in memory
  // Of its outputs over all tokens: the root of the squared differences' sum to that of the squares. Each
  // matrix by itself: its inputs are those of the float32 model.
  double error = 0;
};

// Reads the lines of `file` as texts, each as far as the model reads and 16384 tokens in all; the worst
// matrix comes first. Those that the texts never reach are left out. `format`: int8 or int4.
std::vector<MatrixError> measure_quantization(const ModelDirectory& directory, WeightFormat format,
                                              const std::filesystem::path& file);

}  // namespace attend
