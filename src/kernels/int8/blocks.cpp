#include "kernels/int8/blocks.h"

#include "base/half_precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace attend::kernels {
namespace {

std::uint8_t& number_at(const BlockMatrix& m, std::uint8_t* group, std::int64_t lane, std::int64_t k) {
  const std::int64_t four = m.in_4_bits ? k / 8 : k / 4;
  return group[m.numbers_at() + (four * kInt8Panel + lane) * 4 + k % 4];
}

}  // namespace

bool pack_blocks(const BlockMatrix& m, std::int64_t n, const float* numbers, const float* scales,
                 const float* starts) {
  const std::int64_t panel = n / kInt8Panel, lane = n % kInt8Panel, halves = m.halves(),
                     size = kBlockGroup / halves;
  float largest = 0;
  for (std::int64_t i = 0; i < m.group_count() * halves; ++i)
    largest = std::max({largest, std::fabs(scales[i]), starts ? std::fabs(starts[i]) : 0.0f});
  if (!(largest < 0x1p100f)) return false;
  const int exponent = largest < 0x1p-100f ? 0 : std::ilogb(largest) - 14;
  m.units[n] = std::ldexp(1.0f, exponent);
  for (std::int64_t g = 0; g < m.group_count(); ++g) {
    std::uint8_t* const group = m.group(panel, g);
    for (std::int64_t h = 0; h < halves; ++h) {
      const float scale = scales[g * halves + h], start = starts ? starts[g * halves + h] : 0;
      const auto put = [&](std::int64_t at, float x) {
        const std::uint16_t half = to_float16(std::ldexp(x, -exponent));
        std::memcpy(group + at + (h * kInt8Panel + lane) * 2, &half, 2);
      };
      put(0, scale);
      if (m.has_starts) put(m.starts_at(), start);
      for (std::int64_t k = h * size; k < (h + 1) * size; ++k) {
        const float whole = scale == 0 ? 0 : std::nearbyint((numbers[g * kBlockGroup + k] - start) / scale);
        const float shifted = whole + static_cast<float>(m.zero);
        if (!(shifted >= (m.zero == 128 ? 1 : 0) && shifted <= (m.in_4_bits     ? 15
                                                                : m.zero == 128 ? 255
                                                                                : 127)))
          return false;
        const auto value = static_cast<std::uint8_t>(shifted);
        std::uint8_t& to = number_at(m, group, lane, k);
        to = m.in_4_bits ? static_cast<std::uint8_t>(k % 8 < 4 ? value : (to & 15) | value << 4) : value;
      }
    }
  }
  return true;
}

void block_column(const BlockMatrix& m, std::int64_t n, float* to) {
  const std::int64_t panel = n / kInt8Panel, lane = n % kInt8Panel, size = kBlockGroup / m.halves();
  for (std::int64_t k = 0; k < m.depth; ++k) {
    std::uint8_t* const group = m.group(panel, k / kBlockGroup);
    const std::int64_t in = k % kBlockGroup;
    const auto scale_at = [&](std::int64_t at) {
      std::uint16_t half = 0;
      std::memcpy(&half, group + at + (in / size * kInt8Panel + lane) * 2, 2);
      return from_float16(half) * m.units[n];
    };
    const std::uint8_t byte = number_at(m, group, lane, in);
    const int value = m.in_4_bits ? (in % 8 < 4 ? byte & 15 : byte >> 4) : byte;
    to[k] =
        scale_at(0) * static_cast<float>(value - m.zero) + (m.has_starts ? scale_at(m.starts_at()) : 0.0f);
  }
}

}  // namespace attend::kernels
