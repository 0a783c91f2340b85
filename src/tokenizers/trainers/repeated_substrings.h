// The substrings that a text holds more than once: the inner nodes of its suffix tree, found in its suffix
// array (Abouelhoda, Kurtz and Ohlebusch 2004, "Replacing suffix trees with enhanced suffix arrays").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct Substring {
  std::uint32_t begin;       // of one place where it stands
  std::uint32_t size;        // in bytes
  std::uint32_t characters;  // at most `longest`
  std::uint32_t count;       // of the places where it stands, at least two
};

// Of all substrings that stand at the same places, only the longest: no substring here is followed by the
// same character everywhere. Substrings with a zero byte, the mark between words, are left out. `text` is
// valid UTF-8. O(n log n + n longest) for a text of n bytes, in 4 n bytes beside it.
std::vector<Substring> repeated_substrings(std::string_view text, std::uint32_t longest);

}  // namespace attend::tokenizers
