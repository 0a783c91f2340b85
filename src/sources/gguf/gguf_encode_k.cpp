#include "sources/gguf/gguf_encode_k.h"

#include "sources/gguf/gguf_encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

namespace attend {
namespace {

constexpr std::size_t kBlock = 256;

// As a reader of the block gets it back.
float as_half(float number) {
  return from_float16(to_float16(number));
}

int nearest(float number, int min, int max) {
  return std::clamp(static_cast<int>(std::lrint(number)), min, max);
}

// Numbers as scale * integer - minimum, the minimum not below zero.
struct Line {
  float scale = 0, minimum = 0;
};

int level(const Line& line, float number) {
  return line.scale > 0 ? nearest((number + line.minimum) / line.scale, 0, 15) : 0;
}

// The sum of squared errors. Large numbers count more: they move a product more.
float error_of(const Line& line, std::span<const float> numbers, std::span<const float> weights) {
  float sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float e = line.scale * static_cast<float>(level(line, numbers[i])) - line.minimum - numbers[i];
    sum += weights[i] * e * e;
  }
  return sum;
}

// The best scale and minimum for the integers that `line` gives: least squares.
Line refit(const Line& line, std::span<const float> numbers, std::span<const float> weights) {
  float w = 0, q1 = 0, q2 = 0, x = 0, xq = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto q = static_cast<float>(level(line, numbers[i]));
    w += weights[i];
    q1 += weights[i] * q;
    q2 += weights[i] * q * q;
    x += weights[i] * numbers[i];
    xq += weights[i] * q * numbers[i];
  }
  const float determinant = w * q2 - q1 * q1;
  if (!(determinant > 0)) return line;
  const Line fitted = {(w * xq - q1 * x) / determinant, (q1 * xq - q2 * x) / determinant};
  if (!(fitted.scale > 0)) return line;
  if (fitted.minimum >= 0) return fitted;
  return {xq / q2, 0};  // q2 > 0, since the determinant is
}

// Begins with the range of the numbers; narrower and wider ones are tried too, because a few numbers at the
// ends may be rounded more coarsely if the many in the middle gain by it.
Line fit_line(std::span<const float> numbers) {
  std::array<float, 32> weights{};
  float squares = 0;
  for (const float x : numbers) squares += x * x;
  const float usual = std::sqrt(squares / static_cast<float>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) weights[i] = usual + std::abs(numbers[i]);
  const auto [low, high] = std::ranges::minmax_element(numbers);
  const float minimum = std::max(0.0F, -*low), range = *high + minimum;
  if (!(range > 0)) return {0, minimum};
  Line best = {range / 15, minimum};
  float best_error = error_of(best, numbers, weights);
  for (int step = -10; step <= 10; ++step) {
    const Line tried = refit({range / (15 + 0.1F * static_cast<float>(step)), minimum}, numbers, weights);
    const float error = error_of(tried, numbers, weights);
    if (error < best_error) best = tried, best_error = error;
  }
  return best;
}

// Eight scales and eight minimums of 6 bits in 12 bytes, as gguf_blocks.cpp's group_of unpacks them.
void pack_sixes(const std::array<int, 8>& scales, const std::array<int, 8>& minimums, std::byte* to) {
  std::array<unsigned, 12> packed{};
  for (std::size_t g = 0; g < 4; ++g) {
    packed[g] = static_cast<unsigned>(scales[g]);
    packed[4 + g] = static_cast<unsigned>(minimums[g]);
  }
  for (std::size_t g = 4; g < 8; ++g) {
    const auto scale = static_cast<unsigned>(scales[g]), minimum = static_cast<unsigned>(minimums[g]);
    packed[4 + g] = (scale & 0xFU) | (minimum & 0xFU) << 4;
    packed[g - 4] |= scale >> 4 << 6;
    packed[g] |= minimum >> 4 << 6;
  }
  for (std::size_t i = 0; i < packed.size(); ++i) to[i] = static_cast<std::byte>(packed[i]);
}

// The scale that is best for integers from -32 to 31, which may be negative: -32 has no counterpart, so the
// number that is farthest from zero should become -32.
float fit_scale(std::span<const float> numbers) {
  float farthest = 0;
  for (const float x : numbers)
    if (std::abs(x) > std::abs(farthest)) farthest = x;
  if (farthest == 0) return 0;
  float best = 0, best_gain = -1;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(32 + 0.1F * static_cast<float>(step)) / farthest;
    float xq = 0, q2 = 0;  // weighted by x^2
    for (const float x : numbers) {
      const auto q = static_cast<float>(nearest(x * inverse, -32, 31));
      xq += x * x * x * q;
      q2 += x * x * q * q;
    }
    // With the best scale xq / q2 the error is smaller by this than with none.
    if (q2 > 0 && xq * xq / q2 > best_gain) best = xq / q2, best_gain = xq * xq / q2;
  }
  return best;
}

}  // namespace

void encode_q4_k(const float* from, std::byte* to) {
  std::array<Line, 8> lines;
  float max_scale = 0, max_minimum = 0;
  for (std::size_t g = 0; g < 8; ++g) {
    lines[g] = fit_line({from + 32 * g, 32});
    max_scale = std::max(max_scale, lines[g].scale);
    max_minimum = std::max(max_minimum, lines[g].minimum);
  }
  const float scale = as_half(max_scale / 63), minimum = as_half(max_minimum / 63);
  put_float16(scale, to);
  put_float16(minimum, to + 2);
  std::array<int, 8> scales{}, minimums{};
  for (std::size_t g = 0; g < 8; ++g) {
    scales[g] = scale > 0 ? nearest(lines[g].scale / scale, 0, 63) : 0;
    minimums[g] = minimum > 0 ? nearest(lines[g].minimum / minimum, 0, 63) : 0;
    lines[g] = {scale * static_cast<float>(scales[g]), minimum * static_cast<float>(minimums[g])};
  }
  pack_sixes(scales, minimums, to + 4);
  for (std::size_t pair = 0; pair < 4; ++pair)
    for (std::size_t i = 0; i < 32; ++i) {
      const int low = level(lines[2 * pair], from[64 * pair + i]),
                high = level(lines[2 * pair + 1], from[64 * pair + 32 + i]);
      to[16 + 32 * pair + i] = static_cast<std::byte>(low | high << 4);
    }
}

void encode_q6_k(const float* from, std::byte* to) {
  std::array<float, 16> scales{};
  float farthest = 0;
  for (std::size_t g = 0; g < 16; ++g) {
    scales[g] = fit_scale({from + 16 * g, 16});
    if (std::abs(scales[g]) > std::abs(farthest)) farthest = scales[g];
  }
  const float whole = as_half(farthest / -128);
  put_float16(whole, to + 208);
  std::memset(to, 0, 192);
  for (std::size_t i = 0; i < kBlock; ++i) {
    const int of_group = whole == 0 ? 0 : nearest(scales[i / 16] / whole, -128, 127);
    to[192 + i / 16] = static_cast<std::byte>(static_cast<std::int8_t>(of_group));
    const float scale = whole * static_cast<float>(of_group);
    const auto value = static_cast<unsigned>(32 + (scale == 0 ? 0 : nearest(from[i] / scale, -32, 31)));
    const std::size_t half = i / 128, place = i % 128;
    to[half * 64 + place % 64] |= static_cast<std::byte>((value & 0xFU) << (place < 64 ? 0 : 4));
    to[128 + half * 32 + place % 32] |= static_cast<std::byte>(value >> 4 << (place / 32 * 2));
  }
}

}  // namespace attend
