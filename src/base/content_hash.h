// A 128-bit hash as a name for content. Among a thousand million contents the chance of a collision is 2^-64.
// Fast, but not secure against deliberate collisions.
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
  // Pieces added one after another form one content.
  void add(std::span<const std::byte> bytes);
  // Adds a text with its length, so that "ab", "c" and "a", "bc" differ.
  void add_text(std::string_view text);

  std::array<std::uint64_t, 2> value() const;
  std::string hex() const;  // 32 digits

 private:
  void mix(const std::byte* block);

  std::uint64_t first_ = 0, second_ = 0, length_ = 0;
  std::array<std::byte, 16> rest_{};  // bytes that do not fill a block yet: length_ % 16 of them
};

}  // namespace attend
