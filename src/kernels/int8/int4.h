// 4-bit weights that expand to 8-bit integers.
//
// A column has a scale as in int8.h, and each group of 32 along its depth a step s in 1 ... 17 and a start z:
// the weight is scale * (s * n + z) with n in 0 ... 15, and s * n + z is an integer in -127 ... 127. So
// products are exactly those of int8.h. Few rows multiply by n and apply s and z once per group; for many
// rows a panel is first expanded to bytes. Both give the same sums. 4.5 bits per weight. (Progressive scales:
// Lin et al. 2024, "QServe", arXiv:2405.04532, here with starts.)
#pragma once

#include "kernels/int8/int8.h"

namespace attend::kernels {

constexpr std::int64_t kInt4Group = 32;

inline std::int64_t int4_groups(std::int64_t depth) {
  return (depth + kInt4Group - 1) / kInt4Group;
}

// W^T [depth, columns] as written by pack_int4.
struct Int4Matrix {
  std::int64_t depth = 0, columns = 0;
  // [panel][group][4 eights][16 columns][4]: a byte holds n of depth k in its low half and of k + 4 in its
  // high half.
  std::uint8_t* numbers = nullptr;  // int4_size(depth, columns)
  std::uint8_t* steps = nullptr;    // [panel][group][16]
  std::int8_t* starts = nullptr;    // likewise
  float* scales = nullptr;          // [panel][16]
  std::int32_t* sums = nullptr;     // [panel][16], of each column's integers over all groups
  bool rotated = false;
};

inline std::int64_t int4_size(std::int64_t depth, std::int64_t columns) {
  return int8_panels(columns) * int4_groups(depth) * kInt4Group / 2 * kInt8Panel;
}
// For multiply_int4; pack_int4 needs 17 * 32 * groups floats.
inline std::int64_t int4_scratch(std::int64_t depth) {
  const std::int64_t groups = int4_groups(depth);
  return int8_scratch(depth) + kInt8Rows * groups * 4 + 4 * groups * kInt4Group * kInt8Panel;
}

// Column n of the matrix as float32: row n of W, [depth].
void int4_column(const Int4Matrix& matrix, std::int64_t n, float* to);

}  // namespace attend::kernels
