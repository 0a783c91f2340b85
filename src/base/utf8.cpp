#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace attend {
namespace {

struct Sequence {
  std::size_t size;  // of the code point, or of the bytes that could have started one (at least 1)
  bool valid;
};

// The Unicode Standard, table 3-7 (well-formed sequences) and "U+FFFD substitution of maximal subparts".
Sequence sequence_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and code points above U+10FFFF
  // (F4).
  unsigned char min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < size; ++i) {
    if (at + i == text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if (byte < min || byte > max) return {i, false};
    min = 0x80, max = 0xBF;
  }
  return {size, true};
}

// Skips the ASCII bytes from `at` on, eight at a time: most text is mostly ASCII.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    result.push_back(c.value);
    at += c.size;
  }
  return result;
}

std::string ascii_lowercase(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  } else if (code_point < 0x10000) {
    text += {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
  }
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = skip_ascii(text, 0); at < text.size(); at = skip_ascii(text, at)) {
    const auto [size, valid] = sequence_at(text, at);
    if (!valid) return at;
    at += size;
  }
  return {};
}

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [size, valid] = sequence_at(text, at);
    if (valid) {
      repaired += text.substr(at, size);
    } else {
      append_utf8(repaired, 0xFFFD);
    }
    at += size;
  }
  return repaired;
}

}  // namespace attend
