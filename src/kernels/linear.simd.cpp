// Matrix products for Linear: C [rows, columns] = A [rows, depth] * B [depth, columns] of float32, with
// factors as they are or rounded to bfloat16 (pairs.h). Sums are float32.
//
// B is packed into panels of kPanel columns, [depth][kPanel], so that the inner loop reads it in order. A
// register tile of kRows rows by one panel runs over a block of the depth at a time (Goto & van de Geijn
// 2008, "Anatomy of high-performance matrix multiplication"); A is read where it lies, or rounded a block at
// a time. Each element of C is summed in one fixed order that does not depend on `rows`, so a row's result is
// the same in every batch.
//
// Why not a library: libtorch's oneDNN operator builds a new primitive for every new number of rows (0.5 to
// 10 ms, and ragged batches always bring new ones) and costs 12 us a call; MKL leaves half of an AMD machine
// unused.
#include "kernels/linear.h"

#include "kernels/activation.h"
#include "kernels/half.h"
#include "kernels/pairs.h"

#include <cmath>

namespace attend::kernels::ATTEND_ISA {
namespace {

constexpr int kVectors = 3;  // of a panel
constexpr std::int64_t kPanel = kVectors * W;
constexpr int kRows = W == 16 ? 8 : 4;
constexpr std::int64_t kDepth = 512;     // a panel of this depth stays in the second-level cache
constexpr std::int64_t kRowBlock = 128;  // rows of A of that depth do so too

std::int64_t panels(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel;
}

// What the tiles of one panel read: a block of the depth, in float32 or in pairs of bfloat16.
template <class T>
struct Factors {
  const T* a;  // of row `row`
  std::int64_t row, a_row, a_column;
  const T* b;     // [depth][kPanel]
  const T* next;  // the block that is read after b, which may lie in memory
  std::int64_t depth;
  bool first, last;  // of the blocks of the depth
};

// R rows of A times the first V vectors of a panel of B over `depth`; sum starts as `sum` says.
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
      for (int v = 0; v < V; ++v) sum[r][v] = multiply_add(sum[r][v], left, right[v]);
    }
  }
}

// Activation and residual for the finished C, `rows` rows from i, some vectors from column j, of which the
// last one has `last` columns.
void finish_tile(const MatrixProduct& m, std::int64_t i, int rows, std::int64_t j, int vectors,
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

// A tile of C: R rows from i, V vectors of a panel, of which the last may have fewer columns. Its sums stay
// in registers, for which every index must be known when this is compiled: hence the loops that are unrolled.
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

// The last `rows` rows, R at most.
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

// The block of float32 that begins at k: A where it lies from row `row`, and b.
Factors<float> factors(const MatrixProduct& m, std::int64_t row, std::int64_t k, const float* b,
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

// X [lines, depth], X(i, k) = x[i * x_line + k * x_depth], into pairs of the depth, [pairs][row] with rows
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

float float_of_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A number of 16 bits to and from float32, to the nearest, ties to even. Not every compiler knows float16 on
// every machine, so where there is no instruction for it its bits are put together here.
std::uint16_t half_of(HalfFormat format, float x) {
  if (format == HalfFormat::bfloat16) return static_cast<std::uint16_t>(pair_of(x, 0.0f));
#if defined(__F16C__)
  return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  std::uint32_t half;
  if (size >= 0x47800000) {  // 65536, infinity, NaN
    half = size > 0x7f800000 ? 0x7e00 : 0x7c00;
  } else if (size < 0x38800000) {  // subnormal: an addend leaves no bits for what is too small
    const float sum = float_of_bits(size) + 0.5f;
    std::memcpy(&half, &sum, sizeof half);
    half -= 0x3f000000;
  } else {
    half = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
#endif
}
float widened(HalfFormat format, std::uint16_t half) {
  if (format == HalfFormat::bfloat16) return float_of_bits(static_cast<std::uint32_t>(half) << 16);
#if defined(__F16C__)
  return _cvtsh_ss(half);
#else
  const std::uint32_t sign = (half & 0x8000u) << 16, size = (half & 0x7fffu) << 13, exponent = size >> 23;
  if (exponent == 0) {  // subnormal, exactly
    const float x = float_of_bits(size + (113u << 23)) - float_of_bits(113u << 23);
    return sign != 0 ? -x : x;
  }
  return float_of_bits(sign | (size + (exponent == 31 ? 224u << 23 : 112u << 23)));
#endif
}

// W numbers.
template <HalfFormat format>
inline Vector load_halves(const std::uint16_t* from) {
  if constexpr (format == HalfFormat::bfloat16) {
    return reinterpret_cast<Vector>(load_wide(from) << 16);
  } else {
#if defined(__AVX512F__)
    return (Vector)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
    return (Vector)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    Vector v;
    for (int i = 0; i < W; ++i) v[i] = widened(format, from[i]);
    return v;
#endif
  }
}

// R rows from i by a panel, widened in registers: they wait for the weights alone.
template <HalfFormat format, int R>
void few_rows_of_halves(const MatrixProduct& m, const std::uint16_t* b, std::int64_t i, std::int64_t panel) {
  Vector sum[R][kVectors] = {};
  const float* a = m.a + i * m.a_row;
  for (std::int64_t k = 0; k < m.depth; ++k) {
    Vector right[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) right[v] = load_halves<format>(b + k * kPanel + v * W);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector left = splat(a[r * m.a_row + k * m.a_column]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[r][v] = multiply_add(sum[r][v], left, right[v]);
    }
  }
  const std::int64_t j = panel * kPanel;
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t rest = m.columns - j - v * W, lanes = rest < W ? rest : W;
    if (lanes <= 0) break;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      if (m.bias) sum[r][v] += load_part(m.bias + j + v * W, lanes);
      store_part(m.c + (i + r) * m.c_row + j + v * W, sum[r][v], lanes);
    }
    if (m.residual || m.activation != Activation::none) finish_tile(m, i, R, j + v * W, 1, lanes);
  }
}

template <HalfFormat format>
void multiply_halves(const MatrixProduct& m, const std::uint16_t* packed, std::int64_t row_begin,
                     std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  constexpr std::int64_t kBlock = 128;
  alignas(64) float block[kBlock * kPanel];
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::uint16_t* b = packed + panel * m.depth * kPanel;
    switch (row_end - row_begin) {
      case 1:
        few_rows_of_halves<format, 1>(m, b, row_begin, panel);
        continue;
      case 2:
        few_rows_of_halves<format, 2>(m, b, row_begin, panel);
        continue;
      case 3:
        few_rows_of_halves<format, 3>(m, b, row_begin, panel);
        continue;
      case 4:
        few_rows_of_halves<format, 4>(m, b, row_begin, panel);
        continue;
      default:
        break;
    }
    // A block of the panel is widened and then used by all rows. Blocks may be of any depth, for sums go on
    // where the last block left them.
    for (std::int64_t k = 0; k < m.depth; k += kBlock) {
      Factors<float> f = factors(m, row_begin, k, block, block);
      f.depth = m.depth - k < kBlock ? m.depth - k : kBlock;
      f.last = k + f.depth == m.depth;
      for (std::int64_t n = 0; n < f.depth * kPanel; n += W)
        store(block + n, load_halves<format>(b + k * kPanel + n));
      rows_by_panel(m, f, row_begin, row_end, panel);
    }
  }
}

void pack_halves(HalfFormat format, std::uint16_t* packed, const float* b, std::int64_t b_row,
                 std::int64_t b_column, std::int64_t depth, std::int64_t columns, std::int64_t panel_begin,
                 std::int64_t panel_end) {
  constexpr std::int64_t kBlock = 64;
  alignas(64) float block[kBlock * kPanel];
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t j = panel * kPanel, width = columns - j < kPanel ? columns - j : kPanel;
    for (std::int64_t k = 0; k < depth; k += kBlock) {
      const std::int64_t some = depth - k < kBlock ? depth - k : kBlock;
      pack_block(block, b + k * b_row + j * b_column, b_row, b_column, some, width);
      std::uint16_t* to = packed + (panel * depth + k) * kPanel;
      for (std::int64_t i = 0; i < some * kPanel; ++i) to[i] = half_of(format, block[i]);
    }
  }
}

void multiply_halves(HalfFormat format, const MatrixProduct& m, const std::uint16_t* packed,
                     std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                     std::int64_t panel_end) {
  if (format == HalfFormat::float16)
    multiply_halves<HalfFormat::float16>(m, packed, row_begin, row_end, panel_begin, panel_end);
  else
    multiply_halves<HalfFormat::bfloat16>(m, packed, row_begin, row_end, panel_begin, panel_end);
}

void half_column(HalfFormat format, float* to, const std::uint16_t* packed, std::int64_t depth,
                 std::int64_t j) {
  for (std::int64_t k = 0; k < depth; ++k)
    to[k] = widened(format, packed[(j / kPanel * depth + k) * kPanel + j % kPanel]);
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
  // Of A: [rows][pairs] where its rows are written so, for a transpose costs time, else [pairs][rows].
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

extern const HalfKernels half_table;
const HalfKernels half_table = {.pack = pack_halves, .multiply = multiply_halves, .column = half_column};

}  // namespace attend::kernels::ATTEND_ISA
