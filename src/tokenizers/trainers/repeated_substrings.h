// Finds the substrings that occur more than once in a text: the inner nodes of its suffix tree, found with
// its suffix array (Abouelhoda, Kurtz and Ohlebusch 2004, "Replacing suffix trees with enhanced suffix
// arrays").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct Substring {
  std::uint32_t begin;       // of one occurrence
  std::uint32_t size;        // in bytes
  std::uint32_t characters;  // at most `longest`
  std::uint32_t count;       // number of occurrences, at least two
};

// Of all substrings with the same occurrences, only the longest: no substring in the result is followed by
// the same character everywhere. Substrings with a zero byte, the separator of words, are left out. `text` is
// valid UTF-8. O(n log n + n longest) for a text of n bytes, and 4 n bytes of additional memory.
std::vector<Substring> repeated_substrings(std::string_view text, std::uint32_t longest);

}  // namespace attend::tokenizers
