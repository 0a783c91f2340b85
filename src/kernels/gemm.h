// A small matrix product for operands in the processor's cache: the building block of the attention kernels.
// Large products are in linear.h.
#pragma once

#include "kernels/pairs.h"
#include "kernels/simd.h"

namespace attend::kernels::ATTEND_ISA {

// C [rows, columns] (+)= A [rows, depth] * B [depth, columns].
// A(i, k) = a[i * a_row + k * a_column], so A may be a transpose. B and C have rows of whole vectors:
// columns counts floats and is a multiple of W.
constexpr int kTileRows = W == 16 ? 8 : (W == 8 ? 6 : 4);

// R rows of A times V vectors of B: float32, or pairs of bfloat16 along the depth (pairs.h).
template <int R, int V, bool accumulate, class T>
inline void gemm_tile(std::int64_t depth, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b,
                      std::int64_t b_row, float* c, std::int64_t c_row) {
  Vector sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[r][v] = accumulate ? load(c + r * c_row + v * W) : Vector{};
  for (std::int64_t k = 0; k < depth; ++k) {
    decltype(load(b)) right[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) right[v] = load(b + k * b_row + v * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto left = splat(a[r * a_row + k * a_column]);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] = fused(left, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) store(c + r * c_row + v * W, sum[r][v]);
}

template <int R, bool accumulate, class T>
inline void gemm_rows(std::int64_t columns, std::int64_t depth, const T* a, std::int64_t a_row,
                      std::int64_t a_column, const T* b, std::int64_t b_row, float* c, std::int64_t c_row) {
  std::int64_t j = 0;
  for (; j + 2 * W <= columns; j += 2 * W)
    gemm_tile<R, 2, accumulate>(depth, a, a_row, a_column, b + j, b_row, c + j, c_row);
  if (j < columns) gemm_tile<R, 1, accumulate>(depth, a, a_row, a_column, b + j, b_row, c + j, c_row);
}

// The last `rows` rows, at most R.
template <int R, bool accumulate, class T>
inline void gemm_last_rows(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a,
                           std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row,
                           float* c, std::int64_t c_row) {
  if constexpr (R > 0) {
    if (rows < R)
      return gemm_last_rows<R - 1, accumulate>(rows, columns, depth, a, a_row, a_column, b, b_row, c, c_row);
    gemm_rows<R, accumulate>(columns, depth, a, a_row, a_column, b, b_row, c, c_row);
  }
}

template <bool accumulate>
inline void gemm(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a,
                 std::int64_t a_row, std::int64_t a_column, const float* b, std::int64_t b_row, float* c,
                 std::int64_t c_row) {
  std::int64_t i = 0;
  for (; i + kTileRows <= rows; i += kTileRows)
    gemm_rows<kTileRows, accumulate>(columns, depth, a + i * a_row, a_row, a_column, b, b_row, c + i * c_row,
                                     c_row);
  gemm_last_rows<kTileRows - 1, accumulate>(rows - i, columns, depth, a + i * a_row, a_row, a_column, b,
                                            b_row, c + i * c_row, c_row);
}

}  // namespace attend::kernels::ATTEND_ISA
