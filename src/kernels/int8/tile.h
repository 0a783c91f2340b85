// Tiles of products of 8-bit integers, for the files of this folder, which are compiled once per instruction
// set.
//
// VNNI multiplies unsigned by signed bytes: the left factor is stored as q + 128, and sums begin at -128
// times the column's sum. ARM's dot products take signed bytes. AVX2 has vpmaddubsw, which adds two products
// in 16 bits: for |a| and w with a's sign these are at most 2 * 127 * 127 and fit. The portable code does the
// same with the compiler's vectors.
#pragma once

#include "kernels/int8/fitted.h"
#include "kernels/int8/int8.h"
#include "kernels/int8/rotation.h"

namespace attend::kernels::ATTEND_ISA {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr std::uint8_t kOffset = 128;  // of the left factor
#else
constexpr std::uint8_t kOffset = 0;
#endif
#if defined(__AVX512VNNI__)
constexpr int kTileRows = 8, kTilePanels = 3;
#elif defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
constexpr int kTileRows = 6, kTilePanels = 1;
#else
constexpr int kTileRows = 4, kTilePanels = 1;
#endif
constexpr int kPerPanel = kInt8Panel / W;  // vectors
constexpr std::int64_t kFewRows = 8;       // up to this many rows, reading the weights is the limit

typedef std::int16_t Shorts __attribute__((vector_size(W * 4)));

// Four bytes of a row of the left factor, repeated in each lane.
struct Left {
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
  IntVector bytes;
  explicit Left(std::int32_t four) : bytes(four - IntVector{}) {}
#elif defined(__AVX2__)
  __m256i bytes, size;
  explicit Left(std::int32_t four) : bytes(_mm256_set1_epi32(four)), size(_mm256_abs_epi8(bytes)) {}
#else
  Shorts even, odd;
  explicit Left(std::int32_t four) {
    const IntVector all = four - IntVector{};
    even = (reinterpret_cast<Shorts>(all) << 8) >> 8;
    odd = reinterpret_cast<Shorts>(all) >> 8;
  }
#endif
};

// sum + the products of four bytes in each lane: unsigned by signed, on ARM both signed.
#if defined(__AVX512VNNI__)
inline IntVector dot_products(IntVector sum, IntVector a, IntVector b) {
  return (IntVector)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#elif defined(__AVXVNNI__)
inline IntVector dot_products(IntVector sum, IntVector a, IntVector b) {
  return (IntVector)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}
#elif defined(__ARM_FEATURE_DOTPROD)
inline IntVector dot_products(IntVector sum, IntVector a, IntVector b) {
  return (IntVector)vdotq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
}
#endif

// sum + the products of four bytes in each lane.
inline IntVector add_products(IntVector sum, const Left& a, IntVector w) {
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
  return dot_products(sum, a.bytes, w);
#elif defined(__AVX2__)
  const __m256i pairs = _mm256_maddubs_epi16(a.size, _mm256_sign_epi8((__m256i)w, a.bytes));
  return sum + (IntVector)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
  const Shorts bytes = reinterpret_cast<Shorts>(w);
  const IntVector pairs = reinterpret_cast<IntVector>(((bytes << 8) >> 8) * a.even + (bytes >> 8) * a.odd);
  return sum + ((pairs << 16) >> 16) + (pairs >> 16);
#endif
}

inline IntVector load_ints(const void* p) {
  IntVector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Rounds W floats from -127 to 127 to the nearest integers, ties to even. The portable code adds a large
// number that leaves no bits for fractions.
inline IntVector round(Vector x) {
#if defined(__AVX512F__)
  return (IntVector)_mm512_maskz_cvtps_epi32(0xffff, (__m512)x);
#elif defined(__AVX2__)
  return (IntVector)_mm256_cvtps_epi32((__m256)x);
#else
  const Vector magic = splat(12582912.0f);
  return reinterpret_cast<IntVector>(x + magic) - reinterpret_cast<IntVector>(magic);
#endif
}

// W integers from -127 to 127 as bytes, plus the offset.
inline void store_bytes(std::uint8_t* to, IntVector v, std::uint8_t offset) {
#if defined(__AVX512F__)
  typedef std::uint8_t Bytes __attribute__((vector_size(W)));
  const Bytes bytes = __builtin_convertvector(v, Bytes) + offset;
  std::memcpy(to, &bytes, sizeof bytes);
#elif defined(__AVX2__)
  const __m256i words = _mm256_packs_epi32((__m256i)v, (__m256i)v);
  const __m256i bytes =
      _mm256_add_epi8(_mm256_packs_epi16(words, words), _mm256_set1_epi8(static_cast<char>(offset)));
  const std::int32_t halves[2] = {_mm256_extract_epi32(bytes, 0), _mm256_extract_epi32(bytes, 4)};
  std::memcpy(to, halves, 8);
#else
  for (int i = 0; i < W; ++i) to[i] = static_cast<std::uint8_t>(v[i] + offset);
#endif
}

// The same for four vectors.
inline void store_bytes(std::uint8_t* to, const IntVector (&v)[4], std::uint8_t offset) {
#if defined(__AVX512F__)
  // Packing works within quarters of vectors, so bytes 4 ... 7 are the second vector's first four.
  const __m512i place = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes =
      _mm512_maskz_permutexvar_epi32(0xffff, place,
                                     _mm512_packs_epi16(_mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]),
                                                        _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3])));
  _mm512_storeu_si512(to, _mm512_add_epi8(bytes, _mm512_set1_epi8(static_cast<char>(offset))));
#elif defined(__AVX2__)
  const __m256i place = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes =
      _mm256_permutevar8x32_epi32(_mm256_packs_epi16(_mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]),
                                                     _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3])),
                                  place);
  _mm256_storeu_si256((__m256i*)to, _mm256_add_epi8(bytes, _mm256_set1_epi8(static_cast<char>(offset))));
#else
  for (int i = 0; i < 4; ++i) store_bytes(to + i * W, v[i], offset);
#endif
}

// The largest |x| as bits, at least as large as every lane of `at_least`. NaN and infinities compare above
// all numbers.
inline std::int32_t largest_size(const float* x, std::int64_t count, IntVector at_least = IntVector{}) {
  IntVector maxima[4] = {at_least};
  std::int64_t k = 0;
  for (; k + 4 * W <= count; k += 4 * W)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      maxima[i] = max(load_ints(x + k + i * W) & 0x7fffffff, maxima[i]);
    }
  for (; k < count; k += W) {
    const IntVector bits =
        reinterpret_cast<IntVector>(load_part(x + k, count - k < W ? count - k : W)) & 0x7fffffff;
    maxima[0] = max(bits, maxima[0]);
  }
  for (int i = 1; i < 4; ++i) maxima[0] = max(maxima[i], maxima[0]);
  return largest(maxima[0]);
}

// How numbers of some size are rounded: q = x * factor, and x is about q * step.
struct Rounding {
  float step, factor;

  // `bits`: the largest |x|. Numbers too small to divide by have the step 0, others with an infinity or NaN
  // the step NaN; both have the factor 0.
  explicit Rounding(std::int32_t bits) {
    float largest = 0;
    std::memcpy(&largest, &bits, sizeof largest);
    const bool infinite = bits >= 0x7f800000, useless = infinite || largest < 1e-30f;
    step = infinite ? __builtin_nanf("") : useless ? 0.0f : largest / 127.0f;
    factor = useless ? 0.0f : 127.0f / largest;
  }
};

// Writes x [count] as bytes q + offset, and the offset from there to `padded`; returns the step. `bits`: the
// largest |x|. A row too small to divide by, or with an infinity or NaN, becomes zeros.
inline float quantize(std::uint8_t* to, const float* x, std::int64_t count, std::int64_t padded,
                      std::uint8_t offset, std::int32_t bits) {
  const Rounding by(bits);
  if (by.factor == 0) {
    std::memset(to, offset, static_cast<std::size_t>(padded));
    return by.step;
  }
  const std::int64_t whole = count / W * W;
  std::int64_t k = 0;
  for (; k + 4 * W <= whole; k += 4 * W) {
    IntVector four[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) four[i] = round(load(x + k + i * W) * by.factor);
    store_bytes(to + k, four, offset);
  }
  for (; k < whole; k += W) store_bytes(to + k, round(load(x + k) * by.factor), offset);
  if (whole < count) {
    std::uint8_t last[W];
    store_bytes(last, round(load_part(x + whole, count - whole) * by.factor), offset);
    std::memcpy(to + whole, last, static_cast<std::size_t>(count - whole));
  }
  for (k = count; k < padded; ++k) to[k] = offset;
  return by.step;
}
inline float quantize(std::uint8_t* to, const float* x, std::int64_t count, std::int64_t padded,
                      std::uint8_t offset) {
  return quantize(to, x, count, padded, offset, largest_size(x, count));
}

// The same for a row of the left factor, which is rotated first if `room` for that is given.
inline float quantize_left(std::uint8_t* to, const float* x, std::int64_t count, std::int64_t padded,
                           float* room, std::uint8_t offset = kOffset) {
  if (room == nullptr) return quantize(to, x, count, padded, offset);
  IntVector largest{};
  const std::int64_t turned = rotate(room, x, count, &largest);
  return quantize(to, room, count, padded, offset, largest_size(room + turned, count - turned, largest));
}

// What the tiles of one block of rows and some panels read.
struct Factors {
  const std::uint8_t* rows;  // quantized, `stride` bytes apart
  std::int64_t stride;
  const float* row_scales;
  std::int64_t first_row;
  const std::int8_t* panels;  // [panel][fours][16][4]
  std::int64_t fours;
  const float* scales;       // of the panels' columns
  const std::int32_t* sums;  // of the panels' weights
  std::int64_t first_panel;
};

// The sums of some rows, from row r0 of the block, and of some vectors of columns, from `panel` of f's
// panels: [rows][vectors].
struct Sums {
  const IntVector* first;
  std::int64_t r0, rows, panel, vectors;
};

// Turns sums into results in registers, so that each result is stored once.
template <class Function>
void finish_by(const Int8Product& m, const Factors& f, const Sums& sums, Function function) {
  const float* const row_scales = f.row_scales + sums.r0;
  const std::int64_t rows = sums.rows, vectors = sums.vectors, i = f.first_row + sums.r0, y_row = m.y_row,
                     residual_row = m.residual_row;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const std::int64_t column = sums.panel * kInt8Panel + v * W, j = f.first_panel * kInt8Panel + column,
                       lanes = m.columns - j < W ? m.columns - j : W;
    if (lanes <= 0) return;
    const Vector scale = load(f.scales + column);
    const Vector bias = m.bias ? load_part(m.bias + j, lanes) : Vector{};
    const IntVector* const sum = sums.first + v;
    const float* const residual = m.residual ? m.residual + i * residual_row + j : nullptr;
    float* const y = m.y + i * y_row + j;
    for (std::int64_t r = 0; r < rows; ++r) {
      Vector result =
          function(__builtin_convertvector(sum[r * vectors], Vector) * (scale * row_scales[r]) + bias);
      if (residual) result += load_part(residual + r * residual_row, lanes);
      store_part(y + r * y_row, result, lanes);
    }
  }
}
// Calls finish(function) with the activation after a product of integers.
template <class Finish>
void with_activation(Activation activation, Finish finish) {
  switch (activation) {
    case Activation::none:
      return finish([](Vector x) { return x; });
    case Activation::gelu:
      return finish([](Vector x) { return fitted_gelu(x); });
    case Activation::gelu_tanh:
      return finish([](Vector x) { return fitted_gelu_tanh(x); });
    default:
      return finish([&](Vector x) { return activate(activation, x); });
  }
}
// A call, because otherwise every shape of tile would contain every activation.
__attribute__((noinline)) inline void finish(const Int8Product& m, const Factors& f, const Sums& sums) {
  with_activation(m.activation, [&](auto function) { finish_by(m, f, sums, function); });
}

// R rows, from row r0 of the block, by V panels. Each element has U sums, over every U-th four of the depth,
// so that they do not wait for each other.
template <int R, int V, int U>
void tile(const Int8Product& m, const Factors& f, std::int64_t r0, std::int64_t panel) {
  constexpr int kVectors = V * kPerPanel;
  const std::int64_t fours = f.fours, panel_bytes = fours * kInt8Panel * 4, column = panel * kInt8Panel;
  const std::int8_t* weights = f.panels + panel * panel_bytes;
  const std::uint8_t* rows = f.rows + r0 * f.stride;
  IntVector sum[U][R][kVectors];
#pragma GCC unroll 12
  for (int v = 0; v < kVectors; ++v) {
    const IntVector first = load_ints(f.sums + column + v * W) * -std::int32_t{kOffset};
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int u = 0; u < U; ++u) sum[u][r][v] = u == 0 ? first : IntVector{};
  }
  const auto add = [&](std::int64_t k, IntVector(&to)[R][kVectors]) __attribute__((always_inline)) {
    IntVector w[kVectors];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v)
      w[v] = load_ints(weights + v / kPerPanel * panel_bytes + (k * kPerPanel + v % kPerPanel) * W * 4);
    if constexpr (V > 1)  // the next panels, which may not be in the cache yet
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        __builtin_prefetch(weights + (V + v) * panel_bytes + k * kInt8Panel * 4, 0, 2);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      std::int32_t four;
      std::memcpy(&four, rows + r * f.stride + k * 4, 4);
      const Left a(four);
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) to[r][v] = add_products(to[r][v], a, w[v]);
    }
  };
  std::int64_t k = 0;
  for (; k + U <= fours; k += U)
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) add(k + u, sum[u]);
  for (; k < fours; ++k) add(k, sum[0]);
  // A copy; otherwise the sums themselves would need an address and leave the registers.
  IntVector whole[R][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      IntVector all = sum[0][r][v];
#pragma GCC unroll 4
      for (int u = 1; u < U; ++u) all += sum[u][r][v];
      whole[r][v] = all;
    }
  finish(m, f, {whole[0], r0, R, panel, kVectors});
}

// The last `rows` rows, at most R. One alone would wait for its sums, so it gets several per element.
template <int R, int V>
void last_rows(const Int8Product& m, const Factors& f, std::int64_t rows, std::int64_t r,
               std::int64_t panel) {
  if constexpr (R > 0) {
    if (rows < R) return last_rows<R - 1, V>(m, f, rows, r, panel);
    constexpr int kSums = R * V * kPerPanel;
    tile<R, V, kSums <= 2 ? 4 : kSums <= 4 ? 2 : 1>(m, f, r, panel);
  }
}

template <int V>
void rows_by_panels(const Int8Product& m, const Factors& f, std::int64_t rows, std::int64_t panel) {
  std::int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) tile<kTileRows, V, 1>(m, f, r, panel);
  last_rows<kTileRows - 1, V>(m, f, rows - r, r, panel);
}

}  // namespace attend::kernels::ATTEND_ISA
