// Matrix products for Linear: C [rows, columns] = A [rows, depth] * B [depth, columns], float32.
//
// B is packed into panels of kPanel columns, [depth][kPanel], so that the inner loop reads it in order. A
// register tile of kRows rows by one panel runs over a block of the depth at a time (Goto & van de Geijn
// 2008, "Anatomy of high-performance matrix multiplication"); A is read where it lies. Each element of C is
// summed in one fixed order that does not depend on `rows`, so a row's result is the same in every batch.
//
// Why not a library: libtorch's oneDNN operator builds a new primitive for every new number of rows (0.5 to
// 10 ms, and ragged batches always bring new ones) and costs 12 us a call; MKL leaves half of an AMD machine
// unused.
#include "kernels/linear.h"

#include "kernels/activation.h"

#include <cmath>

namespace attend::kernels::ATTEND_ISA {
namespace {

constexpr int kVectors = 3;  // of a panel
constexpr std::int64_t kPanel = kVectors * W;
constexpr int kRows = W == 16 ? 8 : 4;
constexpr std::int64_t kDepth = 512;  // a panel of this depth stays in the second-level cache

std::int64_t panels(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel;
}

// R rows of A times the first V vectors of a panel of B over `depth`; sum starts as `sum` says.
template <int R, int V>
inline void multiply(Vector (&sum)[R][V], std::int64_t depth, const float* a, std::int64_t a_row,
                     std::int64_t a_column, const float* b) {
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector right[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) right[v] = load(b + k * kPanel + v * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector left = splat(a[r * a_row + k * a_column]);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] += left * right[v];
    }
  }
}

// A tile of C: R rows from i, V vectors of a panel, of which the last may have fewer columns.
template <int R, int V>
void tile(const MatrixProduct& m, std::int64_t i, std::int64_t panel, std::int64_t k, std::int64_t depth,
          const float* b) {
  const std::int64_t j = panel * kPanel, width = m.columns - j;
  const auto lanes = [width](int v) { return v + 1 < V || width >= V * W ? W : width - v * W; };
  const bool first = k == 0, last = k + depth == m.depth;
  Vector sum[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      sum[r][v] =
          first && !m.accumulate ? Vector{} : load_part(m.c + (i + r) * m.c_row + j + v * W, lanes(v));
  multiply<R, V>(sum, depth, m.a + i * m.a_row + k * m.a_column, m.a_row, m.a_column, b);
  for (int v = 0; v < V; ++v) {
    const std::int64_t column = j + v * W;
    const Vector bias = last && m.bias ? load_part(m.bias + column, lanes(v)) : Vector{};
    for (int r = 0; r < R; ++r) {
      Vector y = sum[r][v];
      if (last) {
        y = activate(m.activation, y + bias);
        if (m.residual) y += load_part(m.residual + (i + r) * m.residual_row + column, lanes(v));
      }
      store_part(m.c + (i + r) * m.c_row + column, y, lanes(v));
    }
  }
}

// The last `rows` rows, R at most.
template <int R, int V>
void last_rows(const MatrixProduct& m, std::int64_t rows, std::int64_t i, std::int64_t panel, std::int64_t k,
               std::int64_t depth, const float* b) {
  if constexpr (R > 0) {
    if (rows < R) return last_rows<R - 1, V>(m, rows, i, panel, k, depth, b);
    tile<R, V>(m, i, panel, k, depth, b);
  }
}

template <int V>
void rows_by_vectors(const MatrixProduct& m, std::int64_t begin, std::int64_t end, std::int64_t panel,
                     std::int64_t k, std::int64_t depth, const float* b) {
  std::int64_t i = begin;
  for (; i + kRows <= end; i += kRows) tile<kRows, V>(m, i, panel, k, depth, b);
  last_rows<kRows - 1, V>(m, end - i, i, panel, k, depth, b);
}

// b: the panel's block from k to k + depth, packed.
void rows_by_panel(const MatrixProduct& m, std::int64_t begin, std::int64_t end, std::int64_t panel,
                   std::int64_t k, std::int64_t depth, const float* b) {
  static_assert(kVectors == 3);
  const std::int64_t width = m.columns - panel * kPanel;
  if (width > 2 * W)
    rows_by_vectors<3>(m, begin, end, panel, k, depth, b);
  else if (width > W)
    rows_by_vectors<2>(m, begin, end, panel, k, depth, b);
  else
    rows_by_vectors<1>(m, begin, end, panel, k, depth, b);
}

// B [depth, width] of one panel into [depth][kPanel], zeros behind `width`.
void pack_block(float* to, const float* b, std::int64_t b_row, std::int64_t b_column, std::int64_t depth,
                std::int64_t width) {
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

}  // namespace

std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
  return panels(columns) * kPanel * depth;
}
std::int64_t panel_count(std::int64_t columns) {
  return panels(columns);
}

void pack_panels(float* packed, const float* b, std::int64_t b_row, std::int64_t b_column, std::int64_t depth,
                 std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end) {
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t j = panel * kPanel, width = columns - j < kPanel ? columns - j : kPanel;
    // Blocks of the depth, so that the lines written stay in the cache.
    for (std::int64_t k = 0; k < depth; k += kDepth)
      pack_block(packed + (panel * depth + k) * kPanel, b + k * b_row + j * b_column, b_row, b_column,
                 depth - k < kDepth ? depth - k : kDepth, width);
  }
}

void multiply(const MatrixProduct& m, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
              std::int64_t panel_end) {
  if (m.b_row > 0) {
    alignas(64) float block[kDepth * kPanel];
    for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
      const std::int64_t j = panel * kPanel, width = m.columns - j < kPanel ? m.columns - j : kPanel;
      for (std::int64_t k = 0; k < m.depth; k += kDepth) {
        const std::int64_t depth = m.depth - k < kDepth ? m.depth - k : kDepth;
        pack_block(block, m.b + k * m.b_row + j * m.b_column, m.b_row, m.b_column, depth, width);
        rows_by_panel(m, row_begin, row_end, panel, k, depth, block);
      }
    }
    return;
  }
  constexpr std::int64_t kRowBlock = 128;  // rows of A that stay in the second-level cache
  for (std::int64_t i = row_begin; i < row_end; i += kRowBlock) {
    const std::int64_t rows = i + kRowBlock < row_end ? i + kRowBlock : row_end;
    for (std::int64_t k = 0; k < m.depth; k += kDepth) {
      const std::int64_t depth = m.depth - k < kDepth ? m.depth - k : kDepth;
      for (std::int64_t panel = panel_begin; panel < panel_end; ++panel)
        rows_by_panel(m, i, rows, panel, k, depth, m.b + (panel * m.depth + k) * kPanel);
    }
  }
}

}  // namespace attend::kernels::ATTEND_ISA
