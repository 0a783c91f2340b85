// A vector's signs as bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// Bit 7 - j % 8 of byte j / 8 says whether number j is greater than 0, as numpy.packbits(vector > 0).
inline std::vector<std::uint8_t> signs_of(std::span<const float> vector) {
  std::vector<std::uint8_t> bytes((vector.size() + 7) / 8);
  for (std::size_t j = 0; j < vector.size(); ++j)
    if (vector[j] > 0) bytes[j / 8] |= static_cast<std::uint8_t>(0x80 >> j % 8);
  return bytes;
}

}  // namespace attend
