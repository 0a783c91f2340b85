// HalfKernels of one instruction set: products with float16 weights. For few rows they are widened in
// registers, for many a block at a time.
#include "kernels/half.h"

#include "kernels/linear_tile.h"

namespace attend::kernels::ATTEND_ISA {
namespace {

// Up to this many rows go over a panel tile by tile: widening it again in registers costs less than storing
// and loading it.
constexpr std::int64_t kFewRows = 4 * kRows;

#if !defined(__F16C__)
float float_of_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
#endif

// float16 to and from float32, to nearest, ties to even. Not every compiler supports float16 on every
// machine, so without an instruction the bits are assembled here.
std::uint16_t half_of(float x) {
#if defined(__F16C__)
  return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  std::uint32_t half;
  if (size >= 0x47800000) {  // 65536, infinity, NaN
    half = size > 0x7f800000 ? 0x7e00 : 0x7c00;
  } else if (size < 0x38800000) {  // subnormal: adding a large number rounds off the excess bits
    const float sum = float_of_bits(size) + 0.5f;
    std::memcpy(&half, &sum, sizeof half);
    half -= 0x3f000000;
  } else {
    half = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
#endif
}
float widened(std::uint16_t half) {
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

// Widens W numbers.
inline Vector load_halves(const std::uint16_t* from) {
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
  return (Vector)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  Vector v;
  for (int i = 0; i < W; ++i) v[i] = widened(from[i]);
  return v;
#endif
}

// R rows from i by a panel that is widened in registers: the limit is reading the weights.
template <int R>
void few_rows_of_halves(const MatrixProduct& m, const std::uint16_t* b, std::int64_t i, std::int64_t panel) {
  Vector sum[R][kVectors] = {};
  const float* a = m.a + i * m.a_row;
  for (std::int64_t k = 0; k < m.depth; ++k) {
    Vector right[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) right[v] = load_halves(b + k * kPanel + v * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector left = splat(a[r * m.a_row + k * m.a_column]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fused(left, right[v], sum[r][v]);
    }
  }
  const std::int64_t j = panel * kPanel;
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t rest = m.columns - j - v * W, lanes = rest < W ? rest : W;
    if (lanes <= 0) break;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      if (m.bias) sum[r][v] += load_part(m.bias + j + v * W, lanes);
      store_part(m.c + (i + r) * m.c_row + j + v * W, sum[r][v], lanes);
    }
    if (m.residual || m.activation != Activation::none) finish_tile(m, i, R, j + v * W, 1, lanes);
  }
}

// `rows` rows, at most R.
template <int R>
void few_rows(const MatrixProduct& m, const std::uint16_t* b, std::int64_t i, std::int64_t rows,
              std::int64_t panel) {
  if constexpr (R > 0) {
    if (rows < R) return few_rows<R - 1>(m, b, i, rows, panel);
    few_rows_of_halves<R>(m, b, i, panel);
  }
}

void multiply_halves(const MatrixProduct& m, const std::uint16_t* packed, std::int64_t row_begin,
                     std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  constexpr std::int64_t kBlock = 128;
  alignas(64) float block[kBlock * kPanel];
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::uint16_t* b = packed + panel * m.depth * kPanel;
    if (row_end - row_begin <= kFewRows) {
      for (std::int64_t i = row_begin; i < row_end; i += kRows)
        few_rows<kRows>(m, b, i, row_end - i < kRows ? row_end - i : kRows, panel);
      continue;
    }
    // A block of the panel is widened and then used by all rows. Blocks may have any depth, because sums
    // continue where the last block ended.
    for (std::int64_t k = 0; k < m.depth; k += kBlock) {
      Factors<float> f = factors(m, row_begin, k, block, block);
      f.depth = m.depth - k < kBlock ? m.depth - k : kBlock;
      f.last = k + f.depth == m.depth;
      for (std::int64_t n = 0; n < f.depth * kPanel; n += W)
        store(block + n, load_halves(b + k * kPanel + n));
      rows_by_panel(m, f, row_begin, row_end, panel);
    }
  }
}

void pack_halves(std::uint16_t* packed, const float* b, std::int64_t b_row, std::int64_t b_column,
                 std::int64_t depth, std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end) {
  constexpr std::int64_t kBlock = 64;
  alignas(64) float block[kBlock * kPanel];
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t j = panel * kPanel, width = columns - j < kPanel ? columns - j : kPanel;
    for (std::int64_t k = 0; k < depth; k += kBlock) {
      const std::int64_t some = depth - k < kBlock ? depth - k : kBlock;
      pack_block(block, b + k * b_row + j * b_column, b_row, b_column, some, width);
      std::uint16_t* to = packed + (panel * depth + k) * kPanel;
      for (std::int64_t i = 0; i < some * kPanel; ++i) to[i] = half_of(block[i]);
    }
  }
}

void half_column(float* to, const std::uint16_t* packed, std::int64_t depth, std::int64_t j) {
  for (std::int64_t k = 0; k < depth; ++k)
    to[k] = widened(packed[(j / kPanel * depth + k) * kPanel + j % kPanel]);
}

}  // namespace

extern const HalfKernels half_table;
const HalfKernels half_table = {.pack = pack_halves, .multiply = multiply_halves, .column = half_column};

}  // namespace attend::kernels::ATTEND_ISA
