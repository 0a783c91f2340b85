// Runs of ASCII, eight bytes at a time in a 64-bit word: most text is mostly ASCII.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace attend::tokenizers::ascii {

static_assert(std::endian::native == std::endian::little, "the first byte of a word must be its lowest");

// The bytes from `at` on, with zeros after the end of the text.
inline std::uint64_t eight_bytes(std::string_view text, std::size_t at) {
  std::uint64_t bytes = 0;
  if (text.size() - at >= sizeof bytes)
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
  else
    std::memcpy(&bytes, text.data() + at, text.size() - at);
  return bytes;
}

// The number of bytes before the first whose highest bit is set in `marks`; other bits do not count.
inline unsigned bytes_before(std::uint64_t marks) {
  return static_cast<unsigned>(std::countr_zero(marks & 0x8080808080808080)) / 8;
}

// Sets the highest bit of each byte whose lower seven bits are at least `min`, by an addition.
inline std::uint64_t at_least(std::uint64_t bytes, unsigned min) {
  return (bytes & 0x7F7F7F7F7F7F7F7F) + 0x0101010101010101 * (0x80 - min);
}

// The number of visible characters ('!' to '~') at the start of eight bytes.
inline unsigned count_visible(std::uint64_t bytes) {
  return bytes_before(bytes | ~at_least(bytes, '!') | at_least(bytes, 0x7F));
}

// The number of letters at the start.
inline unsigned count_letters(std::uint64_t bytes) {
  const std::uint64_t lower = bytes | 0x2020202020202020;
  return bytes_before(bytes | ~at_least(lower, 'a') | at_least(lower, '{'));
}

}  // namespace attend::tokenizers::ascii
