// The register tiles of matrix products by packed panels, for the files of this folder that multiply: float32
// and pairs of bfloat16 (linear.simd.cpp), weights of 16 bits (half.simd.cpp).
//
// B is packed into panels of kPanel columns, [depth][kPanel], so that the inner loop reads it in order. A
// register tile of kRows rows by one panel runs over a block of the depth at a time (Goto & van de Geijn
// 2008, "Anatomy of high-performance matrix multiplication"). Each element of C is summed in one fixed order
// that does not depend on `rows`, so a row's result is the same in every batch.
#pragma once

#include "kernels/activation.h"
#include "kernels/kernels.h"
#include "kernels/pairs.h"
#include "kernels/simd.h"

#include <cstring>

namespace attend::kernels::ATTEND_ISA {

constexpr int kVectors = 3;  // of a panel
constexpr std::int64_t kPanel = kVectors * W;
constexpr int kRows = W == 16 ? 8 : 4;
constexpr std::int64_t kDepth = 512;     // a panel of this depth stays in the second-level cache
constexpr std::int64_t kRowBlock = 128;  // rows of A of that depth stay there too

inline std::int64_t panels(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel;
}

// The operands of one panel's tiles: a block of the depth, in float32 or in pairs of bfloat16.
template <class T>
struct Factors {
  const T* a;  // of row `row`
  std::int64_t row, a_row, a_column;
  const T* b;     // [depth][kPanel]
  const T* next;  // the block after b, which may not be in the cache yet
  std::int64_t depth;
  bool first, last;  // of the blocks of the depth
};

// R rows of A times the first V vectors of a panel of B over `depth`; starts from `sum`.
template <int R, int V, class T>
inline void multiply(Vector (&sum)[R][V], const Factors<T>& f, const T* a) {
  for (std::int64_t k = 0; k < f.depth; ++k) {
    decltype(load(f.b)) right[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) right[v] = load(f.b + k * kPanel + v * W);
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) __builtin_prefetch(f.next + k * kPanel + v * W, 0, 2);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto left = splat(a[r * f.a_row + k * f.a_column]);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = fused(left, right[v], sum[r][v]);
    }
  }
}

// Applies activation and residual to the finished C: `rows` rows from i, `vectors` vectors from column j; the
// last one has `last` columns.
inline void finish_tile(const MatrixProduct& m, std::int64_t i, int rows, std::int64_t j, int vectors,
                        std::int64_t last) {
  for (int v = 0; v < vectors; ++v) {
    const std::int64_t column = j + v * W, lanes = v + 1 < vectors ? W : last;
    for (std::int64_t r = i; r < i + rows; ++r) {
      float* c = m.c + r * m.c_row + column;
      Vector y = activate(m.activation, load_part(c, lanes));
      if (m.residual) y += load_part(m.residual + r * m.residual_row + column, lanes);
      store_part(c, y, lanes);
    }
  }
}

// A tile of C: R rows from i, V vectors of a panel; the last may have fewer columns. Its sums stay in
// registers, which requires that every index is known at compile time: hence the unrolled loops.
template <int R, int V, class T>
void tile(const MatrixProduct& m, const Factors<T>& f, std::int64_t i, std::int64_t panel) {
  const std::int64_t j = panel * kPanel, rest = m.columns - j - (V - 1) * W, last = rest < W ? rest : W;
  float* c = m.c + i * m.c_row + j;
  Vector sum[R][V];
  if (f.first && !m.accumulate) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = Vector{};
  } else {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = load_part(c + r * m.c_row + v * W, v + 1 < V ? W : last);
  }
  multiply<R, V>(sum, f, f.a + (i - f.row) * f.a_row);
  if (f.last && m.bias) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) {
      const Vector bias = load_part(m.bias + j + v * W, v + 1 < V ? W : last);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[r][v] += bias;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) store_part(c + r * m.c_row + v * W, sum[r][v], v + 1 < V ? W : last);
  if (f.last && (m.residual || m.activation != Activation::none)) finish_tile(m, i, R, j, V, last);
}

// The last `rows` rows, at most R.
template <int R, int V, class T>
void last_rows(const MatrixProduct& m, const Factors<T>& f, std::int64_t rows, std::int64_t i,
               std::int64_t panel) {
  if constexpr (R > 0) {
    if (rows < R) return last_rows<R - 1, V>(m, f, rows, i, panel);
    tile<R, V>(m, f, i, panel);
  }
}

template <int V, class T>
void rows_by_vectors(const MatrixProduct& m, const Factors<T>& f, std::int64_t begin, std::int64_t end,
                     std::int64_t panel) {
  std::int64_t i = begin;
  for (; i + kRows <= end; i += kRows) tile<kRows, V>(m, f, i, panel);
  last_rows<kRows - 1, V>(m, f, end - i, i, panel);
}

template <class T>
void rows_by_panel(const MatrixProduct& m, const Factors<T>& f, std::int64_t begin, std::int64_t end,
                   std::int64_t panel) {
  static_assert(kVectors == 3);
  const std::int64_t width = m.columns - panel * kPanel;
  if (width > 2 * W)
    rows_by_vectors<3>(m, f, begin, end, panel);
  else if (width > W)
    rows_by_vectors<2>(m, f, begin, end, panel);
  else
    rows_by_vectors<1>(m, f, begin, end, panel);
}

// The block of float32 that begins at k: A in place from row `row`, and b.
inline Factors<float> factors(const MatrixProduct& m, std::int64_t row, std::int64_t k, const float* b,
                              const float* next) {
  const std::int64_t depth = m.depth - k < kDepth ? m.depth - k : kDepth;
  return {m.a + row * m.a_row + k * m.a_column,
          row,
          m.a_row,
          m.a_column,
          b,
          next,
          depth,
          k == 0,
          k + depth == m.depth};
}

// Packs B [depth, width] of one panel into [depth][kPanel], with zeros after `width`.
inline void pack_block(float* to, const float* b, std::int64_t b_row, std::int64_t b_column,
                       std::int64_t depth, std::int64_t width) {
  if (width < kPanel) std::memset(to, 0, static_cast<std::size_t>(depth * kPanel) * 4);
  if (b_column == 1) {
    for (std::int64_t k = 0; k < depth; ++k)
      std::memcpy(to + k * kPanel, b + k * b_row, static_cast<std::size_t>(width) * 4);
    return;
  }
  const std::int64_t whole = b_row == 1 ? width / W * W : 0;
  std::int64_t k = 0;
  for (; k + W <= depth && whole > 0; k += W)
    for (std::int64_t c = 0; c < whole; c += W)
      transpose_tile(to + k * kPanel + c, kPanel, b + c * b_column + k, b_column);
  for (std::int64_t r = 0; r < depth; ++r)
    for (std::int64_t c = r < k ? whole : 0; c < width; ++c) to[r * kPanel + c] = b[r * b_row + c * b_column];
}

}  // namespace attend::kernels::ATTEND_ISA
