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
CodePoint decode_utf8(std::string_view text, std::size_t at);
void append_utf8(std::string& text, char32_t code_point);

// The byte at which `text` stops being valid UTF-8 (overlong forms and surrogates are not valid).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Every invalid byte sequence replaced by U+FFFD, as Python's errors="replace" does.
std::string repair_utf8(std::string_view text);

}  // namespace attend
