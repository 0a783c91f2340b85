// Functions of a row of attention scores.
#pragma once

#include "kernels/pairs.h"
#include "kernels/simd.h"

#include <cmath>
#include <cstring>

namespace attend::kernels::ATTEND_ISA {

// Sets scores before `first` to minus infinity; returns the max of scores[0..seen). Reads whole vectors.
inline float highest_score(float* scores, std::int64_t first, std::int64_t seen) {
  for (std::int64_t j = 0; j < first; ++j) scores[j] = -INFINITY;
  Vector top = splat(-INFINITY);
  const IntVector lane = lane_numbers();
  for (std::int64_t j = 0; j < seen; j += W) {
    const IntVector counts = lane + static_cast<std::int32_t>(j) < static_cast<std::int32_t>(seen);
    top = max(counts ? load(scores + j) : splat(-INFINITY), top);
  }
  return largest(top);
}

constexpr float kLog2OfE = 1.44269504f;

// 2^power for a whole number; 0 below 2^-126.
inline float power_of_two(float power) {
  if (!(power > -127)) return 0;
  const std::int32_t bits = (127 + static_cast<std::int32_t>(power)) << 23;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Weights e^score / 2^power, to be rounded to bfloat16. Because the unit is a power of two, rounding does not
// depend on the power, and weights change exactly from one unit to another: a row has the same weights in
// whatever pieces its keys are read.
struct WeightUnit {
  float highest = -INFINITY, power = -INFINITY;  // of the largest score so far

  // Includes scores up to `score`; returns the factor of all earlier weights.
  float raise(float score) {
    if (!(score > highest)) return 1;
    const float before = power;
    highest = score;
    power = __builtin_ceilf(score * kLog2OfE);
    return power_of_two(before - power);
  }
  // The weights of W scores: 2^y to 3e-6, which is far below bfloat16's 2^-8; 0 below 2^-126. NaN stays NaN.
  Vector weights(Vector scores) const {
    const float subtracted = highest == -INFINITY ? 0 : highest;
    const Vector y = fused(scores - subtracted, splat(kLog2OfE), splat(rest()));
    const Vector clamped = max(splat(-126.0f), y), magic = splat(12582912.0f);  // as in exp()
    const Vector n = (clamped + magic) - magic, r = clamped - n;
    const Vector p = polynomial(r, splat(9.5828548e-3f), 5.5906430e-2f, 2.4024099e-1f, 6.9312408e-1f, 1.0f);
    const auto unit = reinterpret_cast<Vector>((__builtin_convertvector(n, IntVector) + 127) << 23);
    return y < -126.0f ? Vector{} : p * unit;
  }

 private:
  // highest / ln 2 - power: in (-1, 0], but for scores whose fractions float32 cannot hold.
  float rest() const {
    if (highest == -INFINITY) return 0;
    const float exact = __builtin_fmaf(highest, kLog2OfE, -power);
    return exact > 0 ? 0 : exact < -1 ? -1 : exact;
  }
};

// The sink's term in the sum of a softmax that subtracts `highest` from all scores.
inline float sink_share(const float* sink, float highest) {
  return sink == nullptr ? 0 : exp(splat(*sink - highest))[0];
}

}  // namespace attend::kernels::ATTEND_ISA
