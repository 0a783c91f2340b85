// Finds matrices that read only the output of a norm, and norms that only matrices read. For these a scale of
// each input can move from the matrix into the norm: W S (S^-1 x) = W x (Xiao et al. 2022, "SmoothQuant",
// arXiv:2211.10438, section 4).
#pragma once

#include "nn/spec/spec.h"

#include <string>
#include <vector>

namespace attend {

struct NormedInput {
  std::string norm;  // its module in a Transformer: parameters NAME.weight, perhaps NAME.bias
  std::vector<std::string> matrices;  // likewise: NAME.weight
};

// Only in layers with norms before their sublayers. If the norm is after a sublayer, the next residual reads
// it too; and attention with relative positions may apply the same matrix to them.
std::vector<NormedInput> normed_inputs(const ModelSpec& spec);

}  // namespace attend
