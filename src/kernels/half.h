// Products with float16 weights, which are widened to float32 inside the product. The result is bit for bit
// that of the widened matrix (kernels.h). They take half of float32's memory, and less time for few rows,
// where memory bandwidth is the limit. (bfloat16: Kernels::multiply_bfloat16.)
#pragma once

#include "kernels/kernels.h"

#include <cstdint>

namespace attend::kernels {

struct HalfKernels {
  // Like pack_panels and multiply of Kernels, with as many panels and numbers; MatrixProduct::b is not read.
  // Rounds to nearest, ties to even; numbers from 65520 on become infinities.
  void (*pack)(std::uint16_t* packed, const float* b, std::int64_t b_row, std::int64_t b_column,
               std::int64_t depth, std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end);
  void (*multiply)(const MatrixProduct&, const std::uint16_t* packed, std::int64_t row_begin,
                   std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end);
  // Column j of B as pack wrote it: [depth].
  void (*column)(float* to, const std::uint16_t* packed, std::int64_t depth, std::int64_t j);
};

// Those of the set of kernels(), or of the set with this name (find_kernels).
const HalfKernels& half_kernels();
const HalfKernels* find_half_kernels(const char* name);

}  // namespace attend::kernels
