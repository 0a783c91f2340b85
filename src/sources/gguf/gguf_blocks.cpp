// Decodes GGUF's blocks. Each block's arithmetic is that of the reference, product by product (CMake disables
// fused operations for this file), so the numbers are the same to the last bit.
#include "sources/gguf/gguf_blocks.h"

#include "base/error.h"
#include "base/parallel.h"
#include "sources/gguf/gguf_grid_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/ranges.h>

namespace attend {
namespace {

using Byte = std::uint8_t;

float half_at(const Byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return from_float16(bits);
}

constexpr unsigned low(Byte byte) {
  return byte & 0xFU;
}
constexpr unsigned high(Byte byte) {
  return byte >> 4;
}
// An integer minus its zero point, in signed arithmetic.
constexpr float centred(unsigned value, int zero) {
  return static_cast<float>(static_cast<int>(value) - zero);
}

constexpr std::size_t small = 32, large = 256;  // numbers in a block

// scale, 32 integers
void q8_0(const Byte* b, float* to) {
  const float scale = half_at(b);
  for (std::size_t i = 0; i < small; ++i)
    to[i] = static_cast<float>(static_cast<std::int8_t>(b[2 + i])) * scale;
}

// scale, then the first 16 integers in the low halves of bytes and the others in the high ones
void q4_0(const Byte* b, float* to) {
  const float scale = half_at(b);
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = scale * centred(low(b[2 + i]), 8);
    to[16 + i] = scale * centred(high(b[2 + i]), 8);
  }
}

// scale, minimum, integers as above
void q4_1(const Byte* b, float* to) {
  const float scale = half_at(b), min = half_at(b + 2);
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(low(b[4 + i])) + min;
    to[16 + i] = scale * static_cast<float>(high(b[4 + i])) + min;
  }
}

// The fifth bits of all 32 integers are in one word.
unsigned fifth(const Byte* b, std::size_t i) {
  return (b[i / 8] >> (i % 8) & 1U) << 4;
}

void q5_0(const Byte* b, float* to) {
  const float scale = half_at(b);
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = scale * centred(low(b[6 + i]) | fifth(b + 2, i), 16);
    to[16 + i] = scale * centred(high(b[6 + i]) | fifth(b + 2, 16 + i), 16);
  }
}

void q5_1(const Byte* b, float* to) {
  const float scale = half_at(b), min = half_at(b + 2);
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(low(b[8 + i]) | fifth(b + 4, i)) + min;
    to[16 + i] = scale * static_cast<float>(high(b[8 + i]) | fifth(b + 4, 16 + i)) + min;
  }
}

// Scale and minimum of group 0 ... 7 of a block, 6 bits each. Those of the first four groups are the low six
// bits of 4 + 4 bytes. Of the others, the low four bits are in 4 more bytes and the high two bits at the top
// of the first eight.
ScaleAndStart group_of(const Byte* b, const Byte* packed, std::size_t group) {
  unsigned scale = 0, min = 0;
  if (group < 4) {
    scale = packed[group] & 0x3FU;
    min = packed[group + 4] & 0x3FU;
  } else {
    scale = low(packed[group + 4]) | (packed[group - 4] >> 2 & 0x30U);
    min = high(packed[group + 4]) | (packed[group] >> 2 & 0x30U);
  }
  return {half_at(b) * static_cast<float>(scale), -(half_at(b + 2) * static_cast<float>(min))};
}

// scale of scales, scale of minimums, both for 8 groups, then 128 bytes: in each 32 bytes the low halves are
// one group and the high halves the next
void q4_k(const Byte* b, float* to) {
  for (std::size_t group = 0; group < 8; ++group) {
    const auto [scale, start] = group_of(b, b + 4, group);
    const Byte* const from = b + 16 + group / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i)
      to[group * 32 + i] = scale * static_cast<float>(group % 2 == 0 ? low(from[i]) : high(from[i])) + start;
  }
}

// The same with 32 bytes of fifth bits before: bit g of byte i is that of number i in group g.
void q5_k(const Byte* b, float* to) {
  for (std::size_t group = 0; group < 8; ++group) {
    const auto [scale, start] = group_of(b, b + 4, group);
    const Byte *const top = b + 16, *const from = b + 48 + group / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned value = (group % 2 == 0 ? low(from[i]) : high(from[i])) | (top[i] >> group & 1U) << 4;
      to[group * 32 + i] = scale * static_cast<float>(value) + start;
    }
  }
}

ScaleAndStart q6_k_scale(const Byte* b, std::size_t group) {
  return {half_at(b + 208) * static_cast<float>(static_cast<std::int8_t>(b[192 + group])), 0};
}

// 128 bytes of low halves, 64 of the bits above, 16 scales of 8 bits, their scale. In each half of the block,
// the low halves of 64 bytes are the first 64 numbers, the high halves the next 64.
void q6_k(const Byte* b, float* to) {
  for (std::size_t i = 0; i < large; ++i) {
    const std::size_t half = i / 128, place = i % 128;
    const Byte bits = b[half * 64 + place % 64], top = b[128 + half * 32 + place % 32];
    const unsigned value = (place < 64 ? low(bits) : high(bits)) | (top >> (place / 32 * 2) & 3U) << 4;
    to[i] = q6_k_scale(b, i / 16).scale * centred(value, 32);
  }
}

// Two bits of number i: each half of a block has 32 bytes, whose lowest bits are the first 32 numbers.
unsigned two_bits(const Byte* b, std::size_t i) {
  return b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3U;
}

// 16 scales and minimums of 4 bits each, 64 bytes of integers, the scale of scales and that of minimums
ScaleAndStart q2_k_scale(const Byte* b, std::size_t group) {
  return {half_at(b + 80) * static_cast<float>(low(b[group])),
          -(half_at(b + 82) * static_cast<float>(high(b[group])))};
}
void q2_k(const Byte* b, float* to) {
  for (std::size_t i = 0; i < large; ++i) {
    const auto [scale, start] = q2_k_scale(b, i / 16);
    to[i] = scale * static_cast<float>(two_bits(b + 16, i)) + start;
  }
}

// 32 bytes of third bits (bit g of byte i is that of number i of 32), 64 bytes of the two bits below, 16
// scales of 6 bits in 12 bytes, their scale. A third bit of 0 subtracts 4.
ScaleAndStart q3_k_scale(const Byte* b, std::size_t group) {
  const Byte* const packed = b + 96;
  const unsigned below = group < 8 ? low(packed[group]) : high(packed[group - 8]),
                 above = packed[8 + group % 4] >> (group / 4 * 2) & 3U;
  return {half_at(b + 108) * centred(below | above << 4, 32), 0};
}
void q3_k(const Byte* b, float* to) {
  for (std::size_t i = 0; i < large; ++i) {
    const unsigned third = b[i % 32] >> (i / 32) & 1U;
    to[i] = q3_k_scale(b, i / 16).scale * centred(two_bits(b + 32, i), third == 0 ? 4 : 0);
  }
}

// The values of four bits in formats whose steps grow with the distance from zero.
constexpr float uneven[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// 16 bytes: 16 numbers in the low halves, then 16 in the high ones
void look_up(const Byte* b, const float* values, float scale, float* to) {
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = scale * values[low(b[i])];
    to[16 + i] = scale * values[high(b[i])];
  }
}

void iq4_nl(const Byte* b, float* to) {
  look_up(b + 2, uneven, half_at(b), to);
}

// scale of scales, the high two bits of 8 scales, their low four, integers
ScaleAndStart iq4_xs_scale(const Byte* b, std::size_t group) {
  const unsigned above = b[2] | static_cast<unsigned>(b[3]) << 8;
  const Byte pair = b[4 + group / 2];
  const unsigned scale = (group % 2 == 0 ? low(pair) : high(pair)) | (above >> (2 * group) & 3U) << 4;
  return {half_at(b) * centred(scale, 32), 0};
}
void iq4_xs(const Byte* b, float* to) {
  for (std::size_t group = 0; group < 8; ++group)
    look_up(b + 8 + 16 * group, uneven, iq4_xs_scale(b, group).scale, to + 32 * group);
}

// A power of two, then numbers with two bits of exponent and one of mantissa, doubled.
void mxfp4(const Byte* b, float* to) {
  constexpr float values[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const std::uint32_t bits = b[0] < 2 ? 0x00200000U << b[0] : (b[0] - 1U) << 23;
  look_up(b + 1, values, std::bit_cast<float>(bits), to);
}

template <void (*block)(const Byte*, float*), std::size_t bytes, std::size_t count>
void each(const std::byte* from, std::size_t blocks, float* to) {
  for (std::size_t i = 0; i < blocks; ++i)
    block(reinterpret_cast<const Byte*>(from) + i * bytes, to + i * count);
}

template <void (*block)(const Byte*, float*), std::size_t bytes, std::size_t count>
constexpr BlockType coded(std::uint32_t number, std::string_view name) {
  return {number, name, count, bytes, {}, each<block, bytes, count>};
}

// The scale of a block of one group, without and with a start.
ScaleAndStart one_scale(const Byte* b, std::size_t) {
  return {half_at(b), 0};
}
ScaleAndStart scale_and_start(const Byte* b, std::size_t) {
  return {half_at(b), half_at(b + 2)};
}
ScaleAndStart scale_of_eight(const Byte* b, std::size_t group) {
  return group_of(b, b + 4, group);
}

template <ScaleAndStart (*scale)(const Byte*, std::size_t)>
ScaleAndStart scale_at(const std::byte* block, std::size_t group) {
  return scale(reinterpret_cast<const Byte*>(block), group);
}

// `type` with groups of `size` numbers, and integers `lowest` to `highest`.
template <ScaleAndStart (*scale)(const Byte*, std::size_t)>
constexpr BlockType grouped(BlockType type, std::size_t size, int lowest, int highest,
                            bool has_starts = false) {
  type.group = size, type.lowest = lowest, type.highest = highest, type.has_starts = has_starts;
  type.scale = scale_at<scale>;
  return type;
}

template <class Number, float (*widen)(Number)>
void each_plain(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, from + i * sizeof number, sizeof number);
    to[i] = widen(number);
  }
}

float as_it_is(float number) {
  return number;
}
float from_double(double number) {
  return static_cast<float>(number);
}

constexpr BlockType types[] = {
    {0, "F32", 1, 4, DType::f32, each_plain<float, as_it_is>},
    {1, "F16", 1, 2, DType::f16, each_plain<std::uint16_t, from_float16>},
    {30, "BF16", 1, 2, DType::bf16, each_plain<std::uint16_t, from_bfloat16>},
    {28, "F64", 1, 8, DType::f64, each_plain<double, from_double>},
    grouped<one_scale>(coded<q8_0, 34, small>(8, "Q8_0"), 32, -127, 127),
    grouped<one_scale>(coded<q4_0, 18, small>(2, "Q4_0"), 32, -8, 7),
    grouped<scale_and_start>(coded<q4_1, 20, small>(3, "Q4_1"), 32, 0, 15, true),
    grouped<one_scale>(coded<q5_0, 22, small>(6, "Q5_0"), 32, -16, 15),
    grouped<scale_and_start>(coded<q5_1, 24, small>(7, "Q5_1"), 32, 0, 31, true),
    grouped<scale_of_eight>(coded<q4_k, 144, large>(12, "Q4_K"), 32, 0, 15, true),
    grouped<scale_of_eight>(coded<q5_k, 176, large>(13, "Q5_K"), 32, 0, 31, true),
    grouped<q6_k_scale>(coded<q6_k, 210, large>(14, "Q6_K"), 16, -32, 31),
    grouped<q2_k_scale>(coded<q2_k, 84, large>(10, "Q2_K"), 16, 0, 3, true),
    grouped<q3_k_scale>(coded<q3_k, 110, large>(11, "Q3_K"), 16, -4, 3),
    grouped<one_scale>(coded<iq4_nl, 18, small>(20, "IQ4_NL"), 32, -127, 113),
    grouped<iq4_xs_scale>(coded<iq4_xs, 136, large>(23, "IQ4_XS"), 32, -127, 113),
    coded<mxfp4, 17, small>(39, "MXFP4"),
    coded<iq2_xxs, 66, large>(16, "IQ2_XXS"),
    coded<iq2_xs, 74, large>(17, "IQ2_XS"),
    coded<iq2_s, 82, large>(22, "IQ2_S"),
    coded<iq3_xxs, 98, large>(18, "IQ3_XXS"),
    coded<iq3_s, 110, large>(21, "IQ3_S"),
    coded<iq1_s, 50, large>(19, "IQ1_S"),
    coded<iq1_m, 56, large>(29, "IQ1_M"),
};

}  // namespace

const BlockType* find_block_type(std::uint32_t number) {
  const auto found = std::ranges::find(types, number, &BlockType::number);
  return found == std::end(types) ? nullptr : found;
}

std::string block_type_names() {
  std::vector<std::string_view> names;
  for (const BlockType& type : types) names.push_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void decode_blocks(const BlockType& type, std::span<const std::byte> from, std::span<float> to) {
  const std::size_t blocks = from.size() / type.bytes;
  if (from.size() % type.bytes != 0 || to.size() != blocks * type.count)
    fail("{} bytes of {} do not hold {} numbers", from.size(), type.name, to.size());
  parallel_for(blocks, (1 << 16) / type.count, [&](std::size_t begin, std::size_t end) {
    type.decode(from.data() + begin * type.bytes, end - begin, to.data() + begin * type.count);
  });
}

}  // namespace attend
