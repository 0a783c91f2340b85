// A text as characters with their sources, and rules that rewrite it: patterns of a few characters, like the
// regular expressions of Moses's scripts. A rule is one pass: O(n).
#pragma once

#include "tokenizers/text/text.h"

#include <span>
#include <vector>

namespace attend::tokenizers {

// A character, and the bytes of the given text that it represents.
struct Letter {
  char32_t value;
  TextSpan source;
};
using Letters = std::vector<Letter>;

Letters letters_of(const NormalizedText& text);
NormalizedText text_of(const Letters& letters, TextSpan source, bool aligned);

// One character of a pattern: this one, or any of a class.
struct Atom {
  Atom(char32_t value) : literal(value) {}
  Atom(bool (*of_class)(char32_t)) : matches(of_class) {}
  bool operator()(char32_t c) const { return matches != nullptr ? matches(c) : c == literal; }

  char32_t literal = 0;
  bool (*matches)(char32_t) = nullptr;
};

struct Rule {
  std::vector<Atom> pattern;
  const char* result;     // a digit represents the character that matched the atom of this index
  std::size_t ahead = 0;  // this many atoms at the end must match, but are not replaced
};

// Replaces all matches from left to right without overlaps; one rule after another.
void rewrite(const Rule& rule, Letters& text);
void rewrite(std::span<const Rule> rules, Letters& text);

// Replaces single characters by an ASCII text.
struct Replacement {
  char32_t value;
  const char* text;
};
void replace(std::span<const Replacement> table, Letters& text);

// Replaces each run of characters of a class by one space.
void join(bool (*is_one)(char32_t), Letters& text);
void join_spaces(Letters& text);

// Drops white space at both ends.
void strip(Letters& text);

}  // namespace attend::tokenizers
