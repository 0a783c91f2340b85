// Reads a binary file from start to end, with bounds checks.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace attend {

// Reads little-endian numbers, like those of the machine. Errors name `source` and what was expected.
class ByteCursor {
 public:
  // Both must outlive the cursor.
  ByteCursor(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > left()) fail("{}: cut off: expected {} bytes of {}, found {}", source_, count, what, left());
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }
  template <class Number>
  Number number(std::string_view what) {
    Number value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  // Reads a length and as many bytes.
  template <class Length>
  std::string_view text(std::string_view what) {
    const auto bytes = take(number<Length>(what), what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Reads how many items follow; each has at least `min` bytes.
  template <class Count>
  std::uint64_t count(std::size_t min, std::string_view what) {
    const std::uint64_t count = number<Count>(what);
    if (count > left() / min)
      fail("{}: expected the number of {}, at most {} in this file, found {}", source_, what, left() / min,
           count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace attend
