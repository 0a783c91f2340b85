// The frequencies of a rotary embedding.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace attend {

// base^(-2i / size) for each pair i, in float32 step by step, as in the originals.
inline std::vector<float> rotary_frequencies(double base, std::int64_t size) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < size; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(size);
    frequencies.push_back(1.0F / std::pow(static_cast<float>(base), exponent));
  }
  return frequencies;
}

}  // namespace attend
