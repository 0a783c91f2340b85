#include "sources/gguf/gguf_grid_blocks.h"

#include "sources/gguf/gguf_blocks.h"
#include "sources/gguf/gguf_grids.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace attend {
namespace {

constexpr std::size_t kPoint8 = 8, kPoint4 = 4;  // numbers of a point
constexpr float iq2_values[] = {8, 25, 43};
constexpr float iq3_xxs_values[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float iq3_s_values[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr float iq1_delta = 0.125f;

template <class Number>
Number number_at(const std::uint8_t* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

float scale_at(const std::uint8_t* from) {
  return from_float16(number_at<std::uint16_t>(from));
}

unsigned nibble(const std::uint8_t* from, std::size_t i) {
  return from[i / 2] >> (i % 2 * 4) & 0xFU;
}

// Seven signs, and the eighth that makes their number even.
unsigned even_signs(unsigned seven) {
  return seven | static_cast<unsigned>(std::popcount(seven) % 2) << 7;
}

// `numbers` values of `bits` bits each, the lowest first; a set bit of `signs` means minus.
template <std::size_t numbers, unsigned bits>
void write_point(unsigned point, const float* values, unsigned signs, float scale, float* to) {
  for (std::size_t i = 0; i < numbers; ++i) {
    const float number = scale * values[point >> (bits * i) & ((1U << bits) - 1)];
    to[i] = (signs >> i & 1U) == 0 ? number : -number;
  }
}

void write_iq2(unsigned point, unsigned signs, float scale, float* to) {
  write_point<kPoint8, 2>(point, iq2_values, signs, scale, to);
}

// Eight numbers of -1, 0 and 1, all moved up or down.
void write_iq1(unsigned point, bool down, float scale, float* to) {
  const float delta = down ? -iq1_delta : iq1_delta;
  for (std::size_t i = 0; i < kPoint8; ++i)
    to[i] = scale * (static_cast<float>(static_cast<int>(point >> (2 * i) & 3U) - 1) + delta);
}

}  // namespace

// scale, then for each 32 numbers 4 points, and a word of 4 times 7 signs and 4 bits of scale
void iq2_xxs(const std::uint8_t* b, float* to) {
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint8_t* const points = b + 2 + 8 * group;
    const auto word = number_at<std::uint32_t>(points + 4);
    const float scale = scale_at(b) * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
    for (std::size_t i = 0; i < 4; ++i, to += kPoint8)
      write_iq2(iq2_xxs_grid[points[i]], even_signs(word >> (7 * i) & 0x7FU), scale, to);
  }
}

// scale, 32 words of 9 bits of point and 7 signs, 4 bits of scale for each 16 numbers
void iq2_xs(const std::uint8_t* b, float* to) {
  for (std::size_t i = 0; i < 32; ++i, to += kPoint8) {
    const unsigned word = number_at<std::uint16_t>(b + 2 + 2 * i);
    const float scale = scale_at(b) * (0.5f + static_cast<float>(nibble(b + 66, i / 2))) * 0.25f;
    write_iq2(iq2_xs_grid[word & 0x1FFU], even_signs(word >> 9), scale, to);
  }
}

// scale, 32 points, 32 bytes of signs, two more bits of each point, 4 bits of scale for each 16 numbers
void iq2_s(const std::uint8_t* b, float* to) {
  for (std::size_t i = 0; i < 32; ++i, to += kPoint8) {
    const unsigned above = b[66 + i / 4] >> (i % 4 * 2) & 3U;
    const float scale = scale_at(b) * (0.5f + static_cast<float>(nibble(b + 74, i / 2))) * 0.25f;
    write_iq2(iq2_s_grid[b[2 + i] | above << 8], b[34 + i], scale, to);
  }
}

// scale, 64 points of 4 numbers, and for each 32 numbers a word of 4 times 7 signs and 4 bits of scale
void iq3_xxs(const std::uint8_t* b, float* to) {
  for (std::size_t i = 0; i < 64; ++i, to += kPoint4) {
    const auto word = number_at<std::uint32_t>(b + 66 + i / 8 * 4);
    const float scale = scale_at(b) * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
    const unsigned signs = even_signs(word >> (i / 2 % 4 * 7) & 0x7FU) >> (i % 2 * 4);
    write_point<kPoint4, 4>(iq3_xxs_grid[b[2 + i]], iq3_xxs_values, signs, scale, to);
  }
}

// scale, 64 points of 4 numbers, one more bit of each, signs, 4 bits of scale for each 32 numbers
void iq3_s(const std::uint8_t* b, float* to) {
  for (std::size_t i = 0; i < 64; ++i, to += kPoint4) {
    const unsigned above = b[66 + i / 8] >> (i % 8) & 1U;
    const float scale = scale_at(b) * static_cast<float>(1 + 2 * nibble(b + 106, i / 8));
    write_point<kPoint4, 4>(iq3_s_grid[b[2 + i] | above << 8], iq3_s_values, nibble(b + 74, i), scale, to);
  }
}

// scale, 32 points, and for each 32 numbers a word: 3 more bits of 4 points, 3 bits of scale, down or up
void iq1_s(const std::uint8_t* b, float* to) {
  for (std::size_t i = 0; i < 32; ++i, to += kPoint8) {
    const unsigned word = number_at<std::uint16_t>(b + 34 + i / 4 * 2);
    const float scale = scale_at(b) * static_cast<float>(2 * (word >> 12 & 7U) + 1);
    const unsigned above = word >> (i % 4 * 3) & 7U;
    write_iq1(iq1_s_grid[b[2 + i] | above << 8], (word & 0x8000U) != 0, scale, to);
  }
}

// 32 points, 4 bits for each (3 more bits, down or up), and 4 words: 3 bits of scale for each 16 numbers, and
// in the highest bits of each a quarter of the scale of scales
void iq1_m(const std::uint8_t* b, float* to) {
  unsigned whole = 0;
  for (std::size_t i = 0; i < 4; ++i) whole |= number_at<std::uint16_t>(b + 48 + 2 * i) >> 12 << (4 * i);
  for (std::size_t i = 0; i < 32; ++i, to += kPoint8) {
    const std::size_t group = i / 2;
    const unsigned word = number_at<std::uint16_t>(b + 48 + group / 4 * 2), more = nibble(b + 32, i);
    const float scale = from_float16(static_cast<std::uint16_t>(whole)) *
                        static_cast<float>(2 * (word >> (group % 4 * 3) & 7U) + 1);
    write_iq1(iq1_s_grid[b[i] | (more & 7U) << 8], more >= 8, scale, to);
  }
}

}  // namespace attend
