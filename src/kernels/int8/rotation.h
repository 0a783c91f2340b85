// The rotation of int8.h on the vectors of one instruction set.
#pragma once

#include "kernels/int8/int8.h"
#include "kernels/simd.h"

namespace attend::kernels::ATTEND_ISA {

// Multiplies each column of B rows of 16 numbers by the normalized Hadamard matrix of size B. Raises
// `largest` to the absolute values of the results, as bits.
template <int B>
inline void rotate_rows(float* to, const float* from, IntVector& largest) {
  constexpr float kLength = B == 16 ? 0.25f : B == 8 ? 0.353553391f : B == 4 ? 0.5f : 0.707106781f;
  for (std::int64_t column = 0; column < kInt8Panel; column += W) {
    Vector row[B];
#pragma GCC unroll 16
    for (int b = 0; b < B; ++b) row[b] = load(from + b * kInt8Panel + column);
#pragma GCC unroll 4
    for (int half = 1; half < B; half *= 2)
#pragma GCC unroll 16
      for (int b = 0; b < B; ++b)
        if ((b & half) == 0) {
          const Vector sum = row[b] + row[b + half], difference = row[b] - row[b + half];
          row[b] = sum;
          row[b + half] = difference;
        }
#pragma GCC unroll 16
    for (int b = 0; b < B; ++b) {
      const Vector result = row[b] * kLength;
      store(to + b * kInt8Panel + column, result);
      largest = max(reinterpret_cast<IntVector>(result) & 0x7fffffff, largest);
    }
  }
}

// `to` may equal `from`. Returns how many numbers were rotated; `largest`: as in rotate_rows, over these.
inline std::int64_t rotate(float* to, const float* from, std::int64_t count, IntVector* largest) {
  std::int64_t k = 0;
  IntVector sizes = *largest;
  for (; k + 16 * kInt8Panel <= count; k += 16 * kInt8Panel) rotate_rows<16>(to + k, from + k, sizes);
  if (k + 8 * kInt8Panel <= count) rotate_rows<8>(to + k, from + k, sizes), k += 8 * kInt8Panel;
  if (k + 4 * kInt8Panel <= count) rotate_rows<4>(to + k, from + k, sizes), k += 4 * kInt8Panel;
  if (k + 2 * kInt8Panel <= count) rotate_rows<2>(to + k, from + k, sizes), k += 2 * kInt8Panel;
  if (to != from) std::memcpy(to + k, from + k, static_cast<std::size_t>(count - k) * 4);
  *largest = sizes;
  return k;
}
inline void rotate(float* to, const float* from, std::int64_t count) {
  IntVector unasked{};
  rotate(to, from, count, &unasked);
}

}  // namespace attend::kernels::ATTEND_ISA
