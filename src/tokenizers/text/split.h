// Splits a text at matches, and handles the matches.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

// For matches of "-" in "the-final--countdown":
enum class SplitBehavior {
  removed,               // the final countdown
  isolated,              // the - final - - countdown
  merged_with_previous,  // the- final- - countdown
  merged_with_next,      // the -final - -countdown
  contiguous,            // the - final -- countdown
};

SplitBehavior read_split_behavior(const Json& json, const std::string& source,
                                  const char* otherwise = nullptr);

// A part of a text: a match, or the text between matches.
struct SplitPart {
  TextSpan span;
  bool match;
};

// Divides the whole text into matches and the text between; `invert` exchanges the two.
void list_parts(std::size_t text_size, std::span<const TextSpan> matches, bool invert,
                std::vector<SplitPart>& parts);

// Joins or drops the parts according to the behaviour, and calls emit(begin, end).
template <class Emit>
void emit_parts(std::span<const SplitPart> parts, SplitBehavior behavior, Emit emit) {
  const auto joins = [&](const SplitPart& part, const SplitPart& next) {
    switch (behavior) {
      case SplitBehavior::contiguous:
        return part.match == next.match;
      case SplitBehavior::merged_with_previous:
        return !part.match && next.match;
      case SplitBehavior::merged_with_next:
        return part.match && !next.match;
      default:
        return false;
    }
  };
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t last = i;
    while (last + 1 < parts.size() && joins(parts[last], parts[last + 1])) ++last;
    if (behavior != SplitBehavior::removed || !parts[i].match)
      emit(parts[i].span.begin, parts[last].span.end);
    i = last + 1;
  }
}

}  // namespace attend::tokenizers
