// Splits text into words like GPT-2 (Radford et al. 2019, encoder.py), without a regular expression engine:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#pragma once

#include "tokenizers/text/ascii.h"
#include "tokenizers/text/unicode.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace attend::tokenizers {

namespace gpt2 {

enum Kind : std::uint8_t { symbol, letter, number, space };

inline Kind kind_of(char32_t c) {
  const std::uint16_t classes = unicode::classes(c);
  if ((classes & unicode::letter) != 0) return letter;
  if ((classes & unicode::number) != 0) return number;
  return (classes & unicode::whitespace) != 0 ? space : symbol;
}

inline constexpr std::array<std::uint8_t, 128> ascii_kinds = [] {
  std::array<std::uint8_t, 128> kinds{};
  for (int c = 0; c < 128; ++c) {
    kinds[static_cast<std::size_t>(c)] = symbol;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) kinds[static_cast<std::size_t>(c)] = letter;
    if (c >= '0' && c <= '9') kinds[static_cast<std::size_t>(c)] = number;
    if (c == ' ' || (c >= '\t' && c <= '\r')) kinds[static_cast<std::size_t>(c)] = space;
  }
  return kinds;
}();

struct Character {
  Kind kind;
  unsigned size;
};
inline Character character(const char* at) {
  const auto byte = static_cast<unsigned char>(*at);
  if (byte < 128) return {static_cast<Kind>(ascii_kinds[byte]), 1};
  const auto [c, size] = unicode::decode(at);
  return {kind_of(c), size};
}

// The size of a contraction that begins at the apostrophe `at`; 0: none.
inline std::size_t contraction(std::string_view text, std::size_t at) {
  const char first = at + 1 < text.size() ? text[at + 1] : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = at + 2 < text.size() ? text[at + 2] : '\0';
  return (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')
             ? 3
             : 0;
}

}  // namespace gpt2

// Calls emit(begin, end) for each word of valid UTF-8; together they are the whole text.
template <class Emit>
void split_gpt2_words(std::string_view text, Emit emit) {
  const char* const data = text.data();
  const std::size_t size = text.size();
  const auto end_of_run = [&](std::size_t at, gpt2::Kind kind) {
    while (kind == gpt2::letter && at < size) {
      const unsigned letters = ascii::count_letters(ascii::eight_bytes(text, at));
      at += letters;
      if (letters < 8) break;
    }
    while (at < size) {
      const gpt2::Character next = gpt2::character(data + at);
      if (next.kind != kind) break;
      at += next.size;
    }
    return at;
  };
  for (std::size_t at = 0; at < size;) {
    const std::size_t begin = at;
    gpt2::Character first = gpt2::character(data + at);
    if (data[at] == '\'') {
      if (const std::size_t length = gpt2::contraction(text, at)) {
        emit(begin, at += length);
        continue;
      }
    }
    if (data[at] == ' ' && at + 1 < size) {
      const gpt2::Character second = gpt2::character(data + at + 1);
      if (second.kind != gpt2::space) {
        ++at;
        first = second;
      }
    }
    if (first.kind != gpt2::space) {
      at = end_of_run(at + first.size, first.kind);
    } else {
      // White space, up to the last character before other text; that one belongs to the following word or
      // is a word of its own.
      std::size_t last = at, next = at + first.size;
      while (next < size) {
        const gpt2::Character character = gpt2::character(data + next);
        if (character.kind != gpt2::space) break;
        last = next;
        next += character.size;
      }
      at = next == size || last == begin ? next : last;
    }
    emit(begin, at);
  }
}

}  // namespace attend::tokenizers
