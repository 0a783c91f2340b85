// Properties of code points for tokenization. The data are utf8proc's, corrected to the Unicode versions of
// `tokenizers` 0.22.2 (its parts use four different ones), so that both see the same text.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend::unicode {

enum Class : std::uint16_t {
  whitespace = 1 << 0,       // White_Space
  letter = 1 << 1,           // \p{L} of regular expressions
  number = 1 << 2,           // \p{N} of regular expressions
  numeric = 1 << 3,          // N, of the Digits pre-tokenizer
  punctuation = 1 << 4,      // P, and ASCII punctuation
  other = 1 << 5,            // Cc, Cf, Co: what BERT drops
  nonspacing_mark = 1 << 6,  // Mn
  mark = 1 << 7,             // M
  word = 1 << 8,             // \w
  ideograph = 1 << 9,        // the CJK blocks that BERT separates
  cased = 1 << 10,           // lowercasing changes it
  unstable = 1 << 11,        // a normal form may change it: it decomposes, composes or is reordered
  digit = 1 << 12,           // Numeric_Type Decimal or Digit: Python's str.isdigit
};

namespace detail {
constexpr std::size_t page_count = 0x110000 >> 8;
extern std::atomic<const std::uint16_t*> pages[page_count];
const std::uint16_t* fill_page(std::size_t page);
}  // namespace detail

// The classes of a code point, as a sum of Class. Computed once per 256 code points, then one look-up.
inline std::uint16_t classes(char32_t c) {
  const std::uint16_t* page = detail::pages[c >> 8].load(std::memory_order_acquire);
  if (page == nullptr) page = detail::fill_page(c >> 8);
  return page[c & 0xFF];
}
inline bool is(char32_t c, int wanted) {
  return (classes(c) & wanted) != 0;
}

// The code point at `at` in valid UTF-8, and its size in bytes.
struct Decoded {
  char32_t value;
  unsigned size;
};
inline Decoded decode(const char* at) {
  const auto byte = [at](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) < 0xE0) return {(byte(0) & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (byte(0) < 0xF0) return {(byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}
// The last code point of valid, non-empty UTF-8.
inline Decoded last(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return decode(text.data() + at);
}
inline unsigned encoded_size(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}
std::size_t count(std::string_view text);  // code points
bool is_ascii(std::string_view text);

int combining_class(char32_t c);  // 0: a starter

// One code point of a rewritten text and its source in the old text. change 0: it replaces one code point; 1:
// it is inserted; -n: it replaces one code point, and the following n are dropped.
struct Step {
  char32_t value;
  std::int32_t change;
};

// Full lowercasing of one code point: one step, or two (U+0130).
void append_lowercase(char32_t c, std::vector<Step>& steps);

// Normal forms (Unicode Standard Annex #15). python_nfkd is that of Unicode 14, as in Python 3.11; the others
// are of Unicode 9.
enum class Form { nfc, nfd, nfkc, nfkd, python_nfkd };
void normalize(std::string_view text, Form form, std::vector<Step>& steps);

}  // namespace attend::unicode
