#include "kernels/int8/blocks.h"

#include "base/half_precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace attend::kernels {
namespace {

// The byte of the group's number k in a panel's column `lane`, if `count` depths share a byte.
std::uint8_t& byte_of(std::uint8_t* numbers, std::int64_t lane, std::int64_t k, std::int64_t count) {
  return numbers[(k / (4 * count) * kInt8Panel + lane) * 4 + k % 4];
}
constexpr std::int64_t kHighBits = kBlockGroup * kInt8Panel / 2;  // where they begin, of 6

int number_at(const BlockMatrix& m, std::uint8_t* group, std::int64_t lane, std::int64_t k) {
  std::uint8_t* const numbers = group + m.numbers_at();
  if (m.bits == 8) return byte_of(numbers, lane, k, 1);
  const int low = byte_of(numbers, lane, k, 2) >> (k / 4 % 2 * 4) & 15;
  return m.bits == 4 ? low : low | (byte_of(numbers + kHighBits, lane, k, 4) >> (k / 4 % 4 * 2) & 3) << 4;
}

// Into bytes that are zero before.
void put_number(const BlockMatrix& m, std::uint8_t* group, std::int64_t lane, std::int64_t k, int n) {
  std::uint8_t* const numbers = group + m.numbers_at();
  const auto add = [](std::uint8_t& to, int bits) { to = static_cast<std::uint8_t>(to | bits); };
  if (m.bits == 8) return add(byte_of(numbers, lane, k, 1), n);
  add(byte_of(numbers, lane, k, 2), (n & 15) << (k / 4 % 2 * 4));
  if (m.bits == 6) add(byte_of(numbers + kHighBits, lane, k, 4), n >> 4 << (k / 4 % 4 * 2));
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
        const std::int64_t highest = m.bits == 8 && m.zero != 128 ? 127 : (std::int64_t{1} << m.bits) - 1;
        if (!(shifted >= (m.zero == 128 ? 1 : 0) && shifted <= static_cast<float>(highest))) return false;
        put_number(m, group, lane, k, static_cast<int>(shifted));
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
    to[k] = scale_at(0) * static_cast<float>(number_at(m, group, lane, in) - m.zero) +
            (m.has_starts ? scale_at(m.starts_at()) : 0.0f);
  }
}

}  // namespace attend::kernels
