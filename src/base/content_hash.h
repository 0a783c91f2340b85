// A name for content: 128 bits that differ where the content does, save by a chance of 2^-64 among a thousand
// million contents. Fast, and no protection against somebody who seeks two contents with one name.
//
// MurmurHash3_x64_128 (Austin Appleby, public domain), fed piece by piece.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attend {

class ContentHash {
 public:
  // Pieces end to end are one content.
  void add(std::span<const std::byte> bytes);
  // A text with its length, so that "ab", "c" and "a", "bc" are two contents.
  void add_text(std::string_view text);

  std::array<std::uint64_t, 2> value() const;
  std::string hex() const;  // 32 digits

 private:
  void mix(const std::byte* block);

  std::uint64_t first_ = 0, second_ = 0, length_ = 0;
  std::array<std::byte, 16> rest_{};  // bytes that do not fill a block yet: length_ % 16 of them
};

}  // namespace attend
