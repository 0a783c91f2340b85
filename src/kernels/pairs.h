// bfloat16 for matrix products: float32 without its lower 16 bits. Numbers are stored in pairs, two
// neighbours along the depth in one word, as AVX512_BF16 multiplies them; other instruction sets compute the
// same bits with float32 instructions.
#pragma once

#include "kernels/simd.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace attend::kernels::ATTEND_ISA {

// The lower half holds the number with the smaller depth.
typedef std::uint32_t Pair;
typedef UintVector PairVector;

inline PairVector load(const Pair* p) {
  PairVector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline PairVector splat(Pair x) {
  return x + PairVector{};
}
inline Vector splat(int x) {  // else splat(1) could be either
  return splat(static_cast<float>(x));
}

// c + a * b, of each lane's two numbers: first the upper ones, then the lower ones, each product fused with
// its sum, as AVX512_BF16 defines it. Its instructions flush numbers below 2^-126 to zero; the others do not.
inline Vector fused(PairVector a, PairVector b, Vector c) {
#ifdef __AVX512BF16__
  return (Vector)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
#else
  const Vector upper =
      fused(reinterpret_cast<Vector>(a & 0xffff0000u), reinterpret_cast<Vector>(b & 0xffff0000u), c);
  return fused(reinterpret_cast<Vector>(a << 16), reinterpret_cast<Vector>(b << 16), upper);
#endif
}

// x rounded to the nearest bfloat16, ties to even, in the lower half of each lane.
inline UintVector round_to_bfloat16(Vector x) {
#ifdef __AVX512BF16__
  typedef std::uint16_t Halves __attribute__((vector_size(W * 2)));
  return __builtin_convertvector((Halves)_mm512_cvtneps_pbh((__m512)x), UintVector);
#else
  const auto bits = reinterpret_cast<UintVector>(x);
  const UintVector rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const UintVector nan = (bits >> 16) | 0x40u;  // rounding could turn a NaN into -0
  return x != x ? nan : rounded;
#endif
}

inline Vector rounded_to_bfloat16(Vector x) {
  return reinterpret_cast<Vector>(round_to_bfloat16(x) << 16);
}

// The pairs of `low` and `high`.
inline PairVector pairs_of(Vector low, Vector high) {
  return round_to_bfloat16(low) | round_to_bfloat16(high) << 16;
}
inline Pair pair_of(float low, float high) {
  return pairs_of(splat(low), splat(high))[0];
}

// The pairs of 2 W neighbours, the first W of them in `first`.
template <int... lanes>
inline PairVector pairs_of_neighbours(Vector first, Vector second, std::integer_sequence<int, lanes...>) {
#ifdef __AVX512BF16__
  return (PairVector)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
#else
  const auto a = reinterpret_cast<Vector>(round_to_bfloat16(first)),
             b = reinterpret_cast<Vector>(round_to_bfloat16(second));
  return reinterpret_cast<PairVector>(pick<2 * lanes...>(a, b)) |
         reinterpret_cast<PairVector>(pick<(2 * lanes + 1)...>(a, b)) << 16;
#endif
}
inline PairVector pairs_of_neighbours(Vector first, Vector second) {
  return pairs_of_neighbours(first, second, std::make_integer_sequence<int, W>{});
}

// Packs `depth` consecutive numbers into (depth + 1) / 2 pairs; a missing last number is 0.
inline void pair_neighbours(Pair* to, const float* from, std::int64_t depth) {
  std::int64_t k = 0;
  for (; k + 2 * W <= depth; k += 2 * W) {
    const PairVector pairs = pairs_of_neighbours(load(from + k), load(from + k + W));
    std::memcpy(to + k / 2, &pairs, sizeof pairs);
  }
  for (; k < depth; k += 2) to[k / 2] = pair_of(from[k], k + 1 < depth ? from[k + 1] : 0.0f);
}

// Packs lines `low` and `high` (null: zeros) of `count` numbers into `count` pairs.
inline void pair_lines(Pair* to, const float* low, const float* high, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + W <= count; i += W) {
    const PairVector pairs = pairs_of(load(low + i), high ? load(high + i) : Vector{});
    std::memcpy(to + i, &pairs, sizeof pairs);
  }
  for (; i < count; ++i) to[i] = pair_of(low[i], high ? high[i] : 0.0f);
}

}  // namespace attend::kernels::ATTEND_ISA
