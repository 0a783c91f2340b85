// Vectors for *.simd.cpp files, which are compiled once per instruction set: W floats wide, written with the
// compiler's vector extension so that one source serves all sets.
//
// All sets give the same bits, by three rules. Sums over a row use kLanes lanes, however wide a vector is
// (LaneSums). A multiply-add is fused only where the source says so (fused), because the compiler must not
// choose (-ffp-contract=off). The end of a row after its last whole vector goes through the same operations
// as the rest (load_part). The exception is the portable set of the float kernels on x86-64, which has no
// fused multiply-add.
//
// Everything here is in the namespace of its instruction set, and such a file calls no function templates of
// the standard library: otherwise the linker could keep the AVX-512 copy of a shared function for a machine
// without it.
#pragma once

#include "kernels/dropout_stream.h"

#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __AVX2__
#include <immintrin.h>
#endif
#ifdef __ARM_NEON
#include <arm_neon.h>
#endif

#ifndef ATTEND_ISA
#define ATTEND_ISA portable
#endif

namespace attend::kernels::ATTEND_ISA {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

typedef float Vector __attribute__((vector_size(W * 4)));
typedef std::int32_t IntVector __attribute__((vector_size(W * 4)));
typedef std::uint32_t UintVector __attribute__((vector_size(W * 4)));

inline Vector load(const float* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vector v) {
  std::memcpy(p, &v, sizeof v);
}
inline Vector splat(float x) {
  return x - Vector{};  // a broadcast; 0 + x would be an addition, which turns -0 into 0
}

// a * b + c, rounded once.
inline Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON)
  return (Vector)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(ATTEND_FUSED_EVERYWHERE)
  Vector result{};
  // a function call for each number
  for (int i = 0; i < W; ++i) result[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return result;
#else
  return a * b + c;
#endif
}

// A polynomial by Horner's scheme: the coefficients from the highest power down.
inline Vector polynomial(Vector, Vector sum) {
  return sum;
}
template <class... Lower>
inline Vector polynomial(Vector x, Vector coefficient, float next, Lower... lower) {
  return polynomial(x, fused(coefficient, x, splat(next)), lower...);
}

inline IntVector lane_numbers() {
  IntVector v;
  for (int i = 0; i < W; ++i) v[i] = i;
  return v;
}

// The first `count` lanes; the others are 0 and are not touched in memory.
inline Vector load_part(const float* p, std::int64_t count) {
  if (count == W) return load(p);
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
#elif defined(__AVX2__)
  return (Vector)_mm256_maskload_ps(p, (__m256i)(lane_numbers() < static_cast<std::int32_t>(count)));
#else
  Vector v{};
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
#endif
}
inline void store_part(float* p, Vector v, std::int64_t count) {
  if (count == W) return store(p, v);
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
#elif defined(__AVX2__)
  _mm256_maskstore_ps(p, (__m256i)(lane_numbers() < static_cast<std::int32_t>(count)), (__m256)v);
#else
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
#endif
}

// The first `count` lanes of v; the rest from `others`.
inline Vector first_lanes(Vector v, std::int64_t count, Vector others) {
  return count == W ? v : (lane_numbers() < static_cast<std::int32_t>(count) ? v : others);
}

// W 8-bit numbers as 32-bit integers. (GCC 12 converts between such vectors one number at a time.)
#if defined(__AVX512F__)
inline IntVector load_wide(const std::uint8_t* from) {
  return (IntVector)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i*)from));
}
inline IntVector load_wide(const std::int8_t* from) {
  return (IntVector)_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128((const __m128i*)from));
}
inline IntVector load_wide(const std::uint16_t* from) {
  return (IntVector)_mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256((const __m256i*)from));
}
#elif defined(__AVX2__)
inline IntVector load_wide(const std::uint8_t* from) {
  return (IntVector)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)from));
}
inline IntVector load_wide(const std::int8_t* from) {
  return (IntVector)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from));
}
inline IntVector load_wide(const std::uint16_t* from) {
  return (IntVector)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from));
}
#else
template <class Narrow>
inline IntVector load_wide(const Narrow* from) {
  IntVector v;
  for (int i = 0; i < W; ++i) v[i] = from[i];
  return v;
}
#endif

// a > b ? a : b, so b if one of them is NaN; min likewise. (One instruction, but GCC 12 makes two.)
#if defined(__AVX512F__)
inline Vector max(Vector a, Vector b) {
  return (Vector)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
}
inline Vector min(Vector a, Vector b) {
  return (Vector)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
}
inline IntVector max(IntVector a, IntVector b) {
  return (IntVector)_mm512_maskz_max_epi32(0xffff, (__m512i)a, (__m512i)b);
}
#elif defined(__AVX2__)
inline Vector max(Vector a, Vector b) {
  return (Vector)_mm256_max_ps((__m256)a, (__m256)b);
}
inline Vector min(Vector a, Vector b) {
  return (Vector)_mm256_min_ps((__m256)a, (__m256)b);
}
inline IntVector max(IntVector a, IntVector b) {
  return (IntVector)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
#else
inline Vector max(Vector a, Vector b) {
  return a > b ? a : b;
}
inline Vector min(Vector a, Vector b) {
  return a < b ? a : b;
}
inline IntVector max(IntVector a, IntVector b) {
  return a > b ? a : b;
}
#endif

// Lane i of the result is lane lanes[i] of a and b, which are numbered together.
template <int... lanes, class V>
inline V pick(V a, V b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, lanes...);
#else  // GCC before 12
  return __builtin_shuffle(a, b, IntVector{lanes...});
#endif
}

// All lanes combined in halves: lane i with lane i + W / 2, then i + W / 4, ...
template <int half, class V, class Combine, int... lanes>
inline auto combine_lanes(V v, Combine combine, std::integer_sequence<int, lanes...> all) {
  if constexpr (half == 0)
    return v[0];
  else
    return combine_lanes<half / 2>(combine(v, pick<(lanes ^ half)...>(v, v)), combine, all);
}
inline float sum(Vector v) {
  return combine_lanes<W / 2>(
      v, [](Vector a, Vector b) { return a + b; }, std::make_integer_sequence<int, W>{});
}
inline float largest(Vector v) {
  return combine_lanes<W / 2>(
      v, [](Vector a, Vector b) { return max(a, b); }, std::make_integer_sequence<int, W>{});
}
inline std::int32_t sum(IntVector v) {
  return combine_lanes<W / 2>(
      v, [](IntVector a, IntVector b) { return a + b; }, std::make_integer_sequence<int, W>{});
}
inline std::int32_t largest(IntVector v) {
  return combine_lanes<W / 2>(
      v, [](IntVector a, IntVector b) { return max(a, b); }, std::make_integer_sequence<int, W>{});
}

// The number of lanes of a sum, in every instruction set.
constexpr int kLanes = 16, kParts = kLanes / W;  // held in kParts vectors

// A sum over a row: element i is added to lane i % kLanes; at the end the lanes are combined in halves.
struct LaneSums {
  Vector part[kParts]{};

  float total() const {
    Vector v[kParts];
    for (int i = 0; i < kParts; ++i) v[i] = part[i];
    for (int half = kParts / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) v[i] += v[i + half];
    return sum(v[0]);
  }
};

// Combines the lanes of each of W rows in halves, as in one vector; row r's result is in lane r. Like
// swap_blocks, but only the combination of each two new rows is kept.
template <int block, class Combine, int... lanes>
inline Vector combine_rows(Vector (&row)[W], Combine combine, std::integer_sequence<int, lanes...> all) {
  if constexpr (block == 0) {
    return row[0];
  } else {
#pragma GCC unroll 8
    for (int r = 0; r < block; ++r) {
      const Vector a = row[r], b = row[r + block];
      row[r] = combine(pick<(lanes & block ? W + lanes - block : lanes)...>(a, b),
                       pick<(lanes & block ? W + lanes : lanes + block)...>(a, b));
    }
    return combine_rows<block / 2>(row, combine, all);
  }
}
inline Vector sums(Vector (&row)[W]) {
  return combine_rows<W / 2>(
      row, [](Vector a, Vector b) { return a + b; }, std::make_integer_sequence<int, W>{});
}

// Calls do_part(i, count, p) for each vector of a row of n numbers: `count` numbers from i on, which belong
// to part p of LaneSums.
template <class Do>
inline void for_vectors(std::int64_t n, Do do_part) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) do_part(i + p * W, std::int64_t{W}, p);
#pragma GCC unroll 4
  for (int p = 0; p < kParts; ++p)
    if (const std::int64_t rest = n - i - p * W; rest > 0) do_part(i + p * W, rest < W ? rest : W, p);
}

// Transposes the W x W tile at `from` into `to` in log2(W) rounds; each swaps blocks between rows, half as
// large as in the round before (Eklundh 1972).
template <int block, int... lanes>
inline void swap_blocks(Vector (&row)[W], std::integer_sequence<int, lanes...>) {
  if constexpr (block > 0) {
#pragma GCC unroll 16
    for (int r = 0; r < W; ++r) {
      if (r & block) continue;
      const Vector a = row[r], b = row[r + block];
      row[r] = pick<(lanes & block ? W + lanes - block : lanes)...>(a, b);
      row[r + block] = pick<(lanes & block ? W + lanes : lanes + block)...>(a, b);
    }
    swap_blocks<block / 2>(row, std::integer_sequence<int, lanes...>{});
  }
}
inline void transpose_tile(float* to, std::int64_t to_row, const float* from, std::int64_t from_row) {
  Vector row[W];
#pragma GCC unroll 16
  for (int r = 0; r < W; ++r) row[r] = load(from + r * from_row);
  swap_blocks<W / 2>(row, std::make_integer_sequence<int, W>{});
#pragma GCC unroll 16
  for (int r = 0; r < W; ++r) store(to + r * to_row, row[r]);
}

// e^x to about 2 units in the last place; 0 below -87.3. NaN stays NaN.
inline Vector exp(Vector x) {
  const Vector low = splat(-87.33654f), high = splat(88.37626f);
  const IntVector underflow = x < low;
  const Vector clamped = min(max(x, low), high);
  // n = round(x / ln 2), by adding and subtracting a large number; r = x - n ln 2, in two parts.
  const Vector magic = splat(12582912.0f);
  const Vector n = fused(clamped, splat(1.44269504088896341f), magic) - magic;
  const Vector r = fused(n, splat(2.12194440e-4f), fused(n, splat(-0.693359375f), clamped));
  const Vector q = polynomial(r, splat(1.9875691500e-4f), 1.3981999507e-3f, 8.3334519073e-3f,
                              4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f);
  const Vector p = fused(q * r, r, r) + 1.0f;
  const IntVector bits = (__builtin_convertvector(n, IntVector) + 127) << 23;
  Vector power;  // 2^n
  std::memcpy(&power, &bits, sizeof power);
  return x != x ? x : (underflow ? Vector{} : p * power);
}

// A well-mixed 32-bit hash for each lane (the "lowbias32" finalizer: Wellons, hash-prospector).
inline UintVector mix(UintVector x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

// The dropout mask of W elements from `index` of the stream `seed`: 1 / (1 - p) if kept, else 0. An element's
// mask does not depend on the vector width.
struct DropoutMask {
  DropoutStream stream;

  DropoutMask(float p, std::uint64_t seed) : stream(dropout_stream(p, seed)) {}
  Vector operator()(std::uint64_t index) const {
    const UintVector lane = reinterpret_cast<UintVector>(lane_numbers()) + static_cast<std::uint32_t>(index);
    const std::uint32_t high = static_cast<std::uint32_t>(index >> 32) * 0x9e3779b9u;
    const UintVector random = mix(mix(lane ^ (stream.key_low + high)) + stream.key_high);
    return random >= stream.threshold ? splat(stream.kept) : Vector{};
  }
};

}  // namespace attend::kernels::ATTEND_ISA
