// Functions of a row of attention scores.
#pragma once

#include "kernels/simd.h"

#include <cmath>

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

// The sink's term in the sum of a softmax that subtracts `highest` from all scores.
inline float sink_share(const float* sink, float highest) {
  return sink == nullptr ? 0 : exp(splat(*sink - highest))[0];
}

}  // namespace attend::kernels::ATTEND_ISA
