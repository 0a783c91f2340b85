// Numbers of 16 bits: IEEE's float16, and bfloat16, the upper half of a float32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace attend {

// The float32 of the same value.
inline float from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7FFFU;
  constexpr std::uint32_t infinity = 0x7C00, min_normal = 0x400;
  if (magnitude >= infinity) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  if (magnitude >= min_normal) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24F;  // a subnormal number, exactly
  return sign == 0 ? tiny : -tiny;
}
inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// The nearest number, ties to even; infinite beyond the range.
inline std::uint16_t to_float16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  constexpr std::uint32_t infinity = 0x7F800000, min_normal = 0x38800000, overflows = 0x477FF000;
  if (magnitude > infinity) return sign | 0x7E00U;
  if (magnitude >= overflows) return sign | 0x7C00U;
  if (magnitude < min_normal) {  // a multiple of 2^-24
    const float scaled = std::nearbyint(std::abs(number) * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(scaled));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}
inline std::uint16_t to_bfloat16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (std::isnan(number)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace attend
