#include "tokenizers/trainers/repeated_substrings.h"

#include "base/error.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>
#include <limits>

#include <divsufsort.h>

namespace attend::tokenizers {
namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::vector<saidx_t> suffix_array(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<saidx_t>::max()))
    fail("the distinct words have {} bytes, expected less than 2 GiB", text.size());
  std::vector<saidx_t> suffixes(text.size());
  if (divsufsort(reinterpret_cast<const sauchar_t*>(text.data()), suffixes.data(),
                 static_cast<saidx_t>(text.size())) != 0)
    fail("there is not enough memory to sort {} bytes of words", text.size());
  return suffixes;
}

// The suffixes [left, right) of the suffix array start with the same `size` bytes; those of a wider range do
// not.
struct Range {
  std::size_t left, right, size;
};

// Visits every range of two or more suffixes, with the size of the next wider range: the inner nodes of the
// suffix tree. Sizes above `limit` count as `limit`.
template <class Visit>
void visit_ranges(std::string_view text, const std::vector<saidx_t>& suffixes, std::size_t limit,
                  Visit visit) {
  const auto suffix = [&](std::size_t i) {
    return text.substr(static_cast<std::size_t>(suffixes[i]), limit);
  };
  const auto common = [&](std::size_t i) {  // bytes that suffix i shares with the one before it
    const std::string_view a = suffix(i - 1), b = suffix(i);
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(end - a.begin());
  };
  struct Open {
    std::size_t left, size;
  };
  std::vector<Open> open;  // ranges that the next suffix may widen, each inside the one before
  for (std::size_t i = 1; i <= suffixes.size(); ++i) {
    const std::size_t size = i < suffixes.size() ? common(i) : 0;
    std::size_t left = i - 1;
    while (!open.empty() && open.back().size > size) {
      const Open closed = open.back();
      open.pop_back();
      visit(Range{closed.left, i, closed.size}, std::max(size, open.empty() ? 0 : open.back().size));
      left = closed.left;
    }
    if (size > 0 && (open.empty() || open.back().size < size)) open.push_back({left, size});
  }
}

}  // namespace

std::vector<Substring> repeated_substrings(std::string_view text, std::uint32_t longest) {
  const std::vector<saidx_t> suffixes = suffix_array(text);
  const std::size_t limit = (std::size_t{longest} + 1) * 4;  // in bytes: more than `longest` characters
  std::vector<Substring> found;
  visit_ranges(text, suffixes, limit, [&](const Range& range, std::size_t wider) {
    const auto begin = static_cast<std::size_t>(suffixes[range.left]);
    if (!begins_character(text[begin])) return;
    std::size_t size = range.size;
    // The suffixes may differ in the middle of a character: then the range ends before that character.
    while (begin + size < text.size() && !begins_character(text[begin + size])) --size;
    if (size <= wider) return;
    const std::string_view substring = text.substr(begin, size);
    const std::size_t characters = unicode::count(substring);
    if (characters > longest || substring.find('\0') != substring.npos) return;
    found.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size),
                     static_cast<std::uint32_t>(characters),
                     static_cast<std::uint32_t>(range.right - range.left)});
  });
  return found;
}

}  // namespace attend::tokenizers
