// Matrices whose rows are groups of 32 small integers with scales of their own, as GGUF files store them, and
// their products without a second rounding of the weights.
//
// w = scale * (n - zero) + start, for a scale (and a start) of each group, or of each half of it. The left
// factor is quantized by the same groups, x = step * q with q in -127 ... 127 and step = max |x| / 127, so a
// large number makes only its own group coarse. A group's products are summed exactly in integers; groups are
// added in float32, in their order. So the bits depend only on the row and the weights, as in int8.h.
//
// Scales and starts are float16 in units of a power of two for each column: exact for scales that a file
// stores as float16, and within 2^-11 for those that are products of two numbers (Q4_K, Q5_K, Q6_K, ...).
#pragma once

#include "kernels/int8/int8.h"

namespace attend::kernels {

constexpr std::int64_t kBlockGroup = 32;

struct BlockMatrix {
  std::int64_t depth = 0, columns = 0;  // depth: a multiple of 32
  std::int64_t bits = 8;                // 4, 6 or 8: n in 0 ... 2^bits - 1
  bool has_starts = false;
  bool has_halves = false;         // scales and starts of 16 numbers
  std::int32_t zero = 0;           // 128: n - zero is in -127 ... 127; else both are at most 127
  float* units = nullptr;          // [panel][16]
  std::uint8_t* groups = nullptr;  // [panel][group][group_bytes()]

  // A group of a panel: scales [halves][16] of float16, starts likewise if any, then integers. In 8 bits: [8
  // fours][16][4] bytes. In 4: [4 eights][16][4] bytes of n of depth k in the low half and of k + 4 in the
  // high half. In 6: their low 4 bits likewise, then [2][16][4] bytes of the high bits of depths k, k + 4, k
  // + 8 and k + 12, from the lowest.
  std::int64_t halves() const { return has_halves ? 2 : 1; }
  std::int64_t starts_at() const { return halves() * 2 * kInt8Panel; }
  std::int64_t numbers_at() const { return starts_at() * (has_starts ? 2 : 1); }
  std::int64_t group_bytes() const { return numbers_at() + kBlockGroup * kInt8Panel * bits / 8; }
  std::int64_t group_count() const { return depth / kBlockGroup; }
  std::uint8_t* group(std::int64_t panel, std::int64_t g) const {
    return groups + (panel * group_count() + g) * group_bytes();
  }
};

// The bits for integers of a range.
inline std::int64_t block_bits(std::int64_t lowest, std::int64_t highest) {
  return highest - lowest <= 15 ? 4 : highest - lowest <= 63 ? 6 : 8;
}
// Packs column n of a matrix whose bytes are zero: numbers [depth] as they are decoded, scales and starts
// (null if there are none) [depth / 32
// * halves]. False if the numbers are not such integers.
bool pack_blocks(const BlockMatrix& matrix, std::int64_t n, const float* numbers, const float* scales,
                 const float* starts);
// Column n of the matrix as float32: row n of W, [depth].
void block_column(const BlockMatrix& matrix, std::int64_t n, float* to);

// For multiply_blocks: rows in bytes, and for each of their groups a step and two numbers for each half.
inline std::int64_t block_scratch(std::int64_t depth) {
  return kInt8Rows * (depth + depth / kBlockGroup * 20);
}

}  // namespace attend::kernels
