// Unique names of replies.
#pragma once

#include <atomic>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attend::serve {

// "cmpl-" and 16 digits.
inline std::string new_id(std::string_view prefix) {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{}{:08x}{:08x}", prefix, begin, ++count);
}

}  // namespace attend::serve
