// Encodes GGUF's blocks. The arithmetic is that of the reference, step by step, so that the bytes are the
// same.
#include "sources/gguf/gguf_encode.h"

#include "base/error.h"
#include "base/half_precision.h"
#include "base/parallel.h"
#include "sources/gguf/gguf_encode_k.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace attend {
namespace {

using Encode = void (*)(const float* from, std::byte* to);  // of one block

constexpr std::size_t values = 32;  // in a block

void encode_f32(const float* from, std::byte* to) {
  std::memcpy(to, from, sizeof *from);
}

void encode_f16(const float* from, std::byte* to) {
  put_float16(*from, to);
}

// The largest magnitude becomes 127 or -127.
void encode_q8_0(const float* from, std::byte* to) {
  float max = 0;
  for (std::size_t i = 0; i < values; ++i) max = std::max(max, std::abs(from[i]));
  const float scale = max / 127, inverse = scale == 0 ? 0 : 1 / scale;
  put_float16(scale, to);
  for (std::size_t i = 0; i < values; ++i)
    to[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(from[i] * inverse)));
}

// The number farthest from zero becomes -8, because there is no +8.
void encode_q4_0(const float* from, std::byte* to) {
  float farthest = 0;
  for (std::size_t i = 0; i < values; ++i)
    if (std::abs(from[i]) > std::abs(farthest)) farthest = from[i];
  const float scale = farthest / -8, inverse = scale == 0 ? 0 : 1 / scale;
  put_float16(scale, to);
  const auto level = [&](float number) {
    const double moved = double{number} * double{inverse} + 8.5;
    return static_cast<unsigned>(std::clamp(moved, 0.0, 15.0));
  };
  for (std::size_t i = 0; i < values / 2; ++i)
    to[2 + i] = static_cast<std::byte>(level(from[i]) | level(from[values / 2 + i]) << 4);
}

// The number that is farthest from zero becomes -16.
void encode_q5_0(const float* from, std::byte* to) {
  float farthest = 0;
  for (std::size_t i = 0; i < values; ++i)
    if (std::abs(from[i]) > std::abs(farthest)) farthest = from[i];
  const float scale = farthest / -16, inverse = scale == 0 ? 0 : 1 / scale;
  put_float16(scale, to);
  std::uint32_t fifth = 0;
  const auto level = [&](std::size_t i) {
    const auto all = static_cast<unsigned>(std::clamp(from[i] * inverse + 16.5F, 0.0F, 31.0F));
    fifth |= (all >> 4) << i;
    return all & 0xFU;
  };
  for (std::size_t i = 0; i < values / 2; ++i)
    to[6 + i] = static_cast<std::byte>(level(i) | level(values / 2 + i) << 4);
  std::memcpy(to + 2, &fifth, sizeof fifth);
}

struct Encoder {
  std::string_view name;
  std::uint32_t number;
  Encode encode;
};
constexpr Encoder encoders[] = {{"F32", 0, encode_f32},   {"F16", 1, encode_f16},   {"Q8_0", 8, encode_q8_0},
                                {"Q4_0", 2, encode_q4_0}, {"Q5_0", 6, encode_q5_0}, {"Q4_K", 12, encode_q4_k},
                                {"Q6_K", 14, encode_q6_k}};

}  // namespace

void put_float16(float number, std::byte* to) {
  const std::uint16_t bits = to_float16(number);
  std::memcpy(to, &bits, sizeof bits);
}

const BlockType* find_encoded_type(std::string_view name) {
  const auto found = std::ranges::find(encoders, name, &Encoder::name);
  return found == std::end(encoders) ? nullptr : find_block_type(found->number);
}

std::vector<std::byte> encode_blocks(const BlockType& type, std::span<const float> from) {
  const auto encoder = std::ranges::find(encoders, type.name, &Encoder::name);
  if (encoder == std::end(encoders) || from.size() % type.count != 0)
    fail("{} numbers cannot be written as {}", from.size(), type.name);
  std::vector<std::byte> bytes(from.size() / type.count * type.bytes);
  parallel_for(from.size() / type.count, (1 << 16) / type.count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      encoder->encode(from.data() + i * type.count, bytes.data() + i * type.bytes);
  });
  return bytes;
}

}  // namespace attend
