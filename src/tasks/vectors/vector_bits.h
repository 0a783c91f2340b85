// A vector in fewer bits: as 8-bit integers, or as signs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// The integers from -127 to 127, times `scale`, are the vector.
struct Int8Vector {
  std::vector<std::int8_t> numbers;
  float scale = 0;
};
inline Int8Vector as_int8(std::span<const float> vector) {
  float largest = 0;
  for (const float x : vector) largest = std::max(largest, std::abs(x));
  Int8Vector result{{}, largest / 127};
  for (const float x : vector)
    result.numbers.push_back(
        static_cast<std::int8_t>(largest == 0 ? 0 : std::lround(double{x} / largest * 127)));
  return result;
}

// Bit 7 - j % 8 of byte j / 8 says whether number j is greater than 0, as numpy.packbits(vector > 0).
inline std::vector<std::uint8_t> signs_of(std::span<const float> vector) {
  std::vector<std::uint8_t> bytes((vector.size() + 7) / 8);
  for (std::size_t j = 0; j < vector.size(); ++j)
    if (vector[j] > 0) bytes[j / 8] |= static_cast<std::uint8_t>(0x80 >> j % 8);
  return bytes;
}

}  // namespace attend
