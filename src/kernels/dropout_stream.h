// What a dropout mask follows from, on every machine and device.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Element i is dropped if mix(mix(low ^ (key_low + high * 0x9e3779b9)) + key_high) < threshold, for the low
// and high 32 bits of i and 32-bit arithmetic; `mix` is in simd.h. Else it is multiplied by `kept`.
struct DropoutStream {
  std::uint32_t threshold, key_low, key_high;
  float kept;
};

// Of the probability p and a seed.
DropoutStream dropout_stream(float p, std::uint64_t seed);

}  // namespace attend::kernels
