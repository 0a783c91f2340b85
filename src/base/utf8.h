// UTF-8: decoding, encoding and checking. Unicode tables are utf8proc's, not ours.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

struct CodePoint {
  char32_t value;
  unsigned size;  // in bytes
};

// The code point at `text[at]`, which must begin one of valid UTF-8.
inline CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const auto tail = [&](std::size_t i) { return byte(i) & 0x3F; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | tail(1), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3};
  return {(lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

// The code points of valid UTF-8.
std::u32string decode_utf8(std::string_view text);

// A to Z as a to z; all else stays.
std::string ascii_lowercase(std::string text);

// Every `from` that text has, from left to right, becomes `to`. An empty `from` is nowhere.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// `code_point` must be at most U+10FFFF and not a surrogate.
void append_utf8(std::string& text, char32_t code_point);

// The byte at which `text` stops being valid UTF-8 (overlong forms and surrogates are not valid).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Every invalid byte sequence replaced by U+FFFD, as Python's errors="replace" does.
std::string repair_utf8(std::string_view text);

}  // namespace attend
