#include "base/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace attend {
namespace {

constexpr std::uint64_t kFirst = 0x87c37b91114253d5u, kSecond = 0x4cf5ad432745937fu;

std::uint64_t mixed_first(std::uint64_t word) {
  return std::rotl(word * kFirst, 31) * kSecond;
}

std::uint64_t mixed_second(std::uint64_t word) {
  return std::rotl(word * kSecond, 33) * kFirst;
}

std::uint64_t finished(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

}  // namespace

void ContentHash::mix(const std::byte* block) {
  std::uint64_t words[2];
  std::memcpy(words, block, sizeof words);
  first_ ^= mixed_first(words[0]);
  first_ = (std::rotl(first_, 27) + second_) * 5 + 0x52dce729;
  second_ ^= mixed_second(words[1]);
  second_ = (std::rotl(second_, 31) + first_) * 5 + 0x38495ab5;
}

void ContentHash::add(std::span<const std::byte> bytes) {
  const std::size_t kept = length_ % rest_.size();
  length_ += bytes.size();
  if (kept > 0) {
    const std::size_t more = std::min(rest_.size() - kept, bytes.size());
    std::copy_n(bytes.data(), more, rest_.data() + kept);
    bytes = bytes.subspan(more);
    if (kept + more < rest_.size()) return;
    mix(rest_.data());
  }
  for (; bytes.size() >= rest_.size(); bytes = bytes.subspan(rest_.size())) mix(bytes.data());
  std::ranges::copy(bytes, rest_.data());
}

void ContentHash::add_text(std::string_view text) {
  const std::uint64_t size = text.size();
  add(std::as_bytes(std::span(&size, 1)));
  add(std::as_bytes(std::span(text)));
}

std::array<std::uint64_t, 2> ContentHash::value() const {
  std::array<std::byte, 16> block{};
  std::copy_n(rest_.data(), length_ % rest_.size(), block.data());
  std::uint64_t words[2];
  std::memcpy(words, block.data(), sizeof words);
  std::uint64_t first = first_ ^ mixed_first(words[0]), second = second_ ^ mixed_second(words[1]);
  first ^= length_;
  second ^= length_;
  first += second;
  second += first;
  first = finished(first);
  second = finished(second);
  first += second;
  return {first, second + first};
}

std::string ContentHash::hex() const {
  const auto [first, second] = value();
  return fmt::format("{:016x}{:016x}", first, second);
}

}  // namespace attend
