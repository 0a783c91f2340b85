// Matrix products for Linear: C [rows, columns] = A [rows, depth] * B [depth, columns] of float32, with
// factors as they are or rounded to bfloat16 (pairs.h). Sums are float32. B is packed into panels
// (linear_tile.h); A is read in place, or rounded a block at a time.
//
// Why not a library: libtorch's oneDNN operator builds a new primitive for every new number of rows (0.5 to
// 10 ms, and ragged batches always bring new ones) and costs 12 us a call; MKL leaves half of an AMD machine
// unused.
#include "kernels/linear.h"

#include "kernels/linear_tile.h"

namespace attend::kernels::ATTEND_ISA {
namespace {

// Packs X [lines, depth], X(i, k) = x[i * x_line + k * x_depth], into pairs along the depth: [pairs][row],
// `row` apart.
void pair_block(Pair* to, std::int64_t row, const float* x, std::int64_t x_line, std::int64_t x_depth,
                std::int64_t lines, std::int64_t depth) {
  const std::int64_t pairs = (depth + 1) / 2;
  if (x_line == 1) {
    for (std::int64_t p = 0; p < pairs; ++p)
      pair_lines(to + p * row, x + 2 * p * x_depth, 2 * p + 1 < depth ? x + (2 * p + 1) * x_depth : nullptr,
                 lines);
    return;
  }
  std::int64_t i = 0;
  if (x_depth == 1) {
    alignas(64) Pair line[W][kDepth / 2];
    for (; i + W <= lines; i += W) {
      for (int r = 0; r < W; ++r) pair_neighbours(line[r], x + (i + r) * x_line, depth);
      std::int64_t p = 0;
      for (; p + W <= pairs; p += W)
        transpose_tile(reinterpret_cast<float*>(to + p * row + i), row, reinterpret_cast<float*>(&line[0][p]),
                       kDepth / 2);
      for (; p < pairs; ++p)
        for (int r = 0; r < W; ++r) to[p * row + i + r] = line[r][p];
    }
  }
  for (; i < lines; ++i)
    for (std::int64_t p = 0; p < pairs; ++p) {
      const float* at = x + i * x_line + 2 * p * x_depth;
      to[p * row + i] = pair_of(at[0], 2 * p + 1 < depth ? at[x_depth] : 0.0f);
    }
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
    // Blocks of the depth, so that the written lines stay in the cache.
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
        const Factors<float> f = factors(m, row_begin, k, block, block);
        pack_block(block, m.b + k * m.b_row + j * m.b_column, m.b_row, m.b_column, f.depth, width);
        rows_by_panel(m, f, row_begin, row_end, panel);
      }
    }
    return;
  }
  for (std::int64_t i = row_begin; i < row_end; i += kRowBlock) {
    const std::int64_t rows = i + kRowBlock < row_end ? i + kRowBlock : row_end;
    for (std::int64_t k = 0; k < m.depth; k += kDepth)
      for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
        const auto block = [&](std::int64_t at, std::int64_t depth) {
          return m.b + (at * m.depth + depth) * kPanel;
        };
        const float* next = panel + 1 < panel_end ? block(panel + 1, k) : block(panel_begin, k + kDepth);
        rows_by_panel(m, factors(m, i, k, block(panel, k), next), i, rows, panel);
      }
  }
}

// Each panel [pairs of the depth][kPanel].
void pack_pairs(Pair* packed, const float* b, std::int64_t b_row, std::int64_t b_column, std::int64_t depth,
                std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end) {
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t j = panel * kPanel, width = columns - j < kPanel ? columns - j : kPanel;
    Pair* to = packed + panel * pairs * kPanel;
    if (width < kPanel) std::memset(to, 0, static_cast<std::size_t>(pairs * kPanel) * sizeof(Pair));
    for (std::int64_t k = 0; k < depth; k += kDepth)
      pair_block(to + k / 2 * kPanel, kPanel, b + k * b_row + j * b_column, b_column, b_row, width,
                 depth - k < kDepth ? depth - k : kDepth);
  }
}

void multiply_bfloat16(const MatrixProduct& m, std::int64_t row_begin, std::int64_t row_end,
                       std::int64_t panel_begin, std::int64_t panel_end) {
  // Of A: [rows][pairs] if its rows are contiguous, because a transpose costs time; else [pairs][rows].
  alignas(64) Pair block[kDepth / 2 * kRowBlock];
  const bool by_rows = m.a_column == 1;
  const std::int64_t row = by_rows ? kDepth / 2 : 1, column = by_rows ? 1 : kRowBlock;
  const std::int64_t pairs = (m.depth + 1) / 2;
  for (std::int64_t i = row_begin; i < row_end; i += kRowBlock) {
    const std::int64_t end = i + kRowBlock < row_end ? i + kRowBlock : row_end;
    for (std::int64_t k = 0; k < m.depth; k += kDepth) {
      const std::int64_t depth = m.depth - k < kDepth ? m.depth - k : kDepth;
      const float* a = m.a + i * m.a_row + k * m.a_column;
      if (by_rows)
        for (std::int64_t r = 0; r < end - i; ++r) pair_neighbours(block + r * row, a + r * m.a_row, depth);
      else
        pair_block(block, kRowBlock, a, m.a_row, m.a_column, end - i, depth);
      for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
        const Factors<Pair> f{block,
                              i,
                              row,
                              column,
                              m.pairs + (panel * pairs + k / 2) * kPanel,
                              m.pairs + ((panel + 1) * pairs + k / 2) * kPanel,
                              (depth + 1) / 2,
                              k == 0,
                              k + depth == m.depth};
        rows_by_panel(m, f, i, end, panel);
      }
    }
  }
}

}  // namespace attend::kernels::ATTEND_ISA
