// Python's textwrap.wrap(), for the filter wordwrap.
#include "formats/jinja/text_wrapping.h"

#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/text_cases.h"

#include <algorithm>

namespace attend::jinja {
namespace {

using Characters = std::u32string_view;

// textwrap breaks lines at white space of ASCII only.
bool is_break(char32_t c) {
  return Characters(U"\t\n\v\f\r ").find(c) != Characters::npos;
}
bool is_word_letter(char32_t c) {
  return is_word(c) && !is_decimal(c);
}

// Splits a line into white space and words as textwrap's pattern does. Words are also split after hyphens and
// around dashes.
class Chunks {
 public:
  Chunks(Characters text, bool hyphens) : text_(text), hyphens_(hyphens) {}

  std::vector<Characters> split() const {
    std::vector<Characters> chunks;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = end_of(begin);
      chunks.push_back(text_.substr(begin, end - begin));
      begin = end;
    }
    return chunks;
  }

 private:
  template <class Holds>
  bool at(std::size_t i, const Holds& holds) const {
    return i < text_.size() && holds(text_[i]);
  }
  bool is_dash(std::size_t i) const { return i < text_.size() && text_[i] == U'-'; }
  bool is_letter_at(std::size_t i) const { return at(i, is_word_letter); }
  // Whether the character before `i` may come before a dash.
  bool after_word(std::size_t i) const {
    return i > 0 && (is_word(text_[i - 1]) || Characters(U"!\"'&.,?").find(text_[i - 1]) != Characters::npos);
  }
  // The end of two or more dashes that a word follows; `i` itself: there are none.
  std::size_t end_of_dashes(std::size_t i) const {
    std::size_t end = i;
    while (is_dash(end)) ++end;
    return end >= i + 2 && at(end, is_word) ? end : i;
  }
  // Whether a word that starts at `begin` may be split before `i`, after its hyphen.
  bool after_hyphen(std::size_t begin, std::size_t i) const {
    if (i < std::max<std::size_t>(3, begin + 2) || !is_dash(i - 1) || !is_letter_at(i - 2)) return false;
    const bool before = is_letter_at(i - 3) || (i >= 4 && is_dash(i - 3) && is_letter_at(i - 4));
    return before && is_letter_at(i) && (is_letter_at(i + 1) || (is_dash(i + 1) && is_letter_at(i + 2)));
  }
  std::size_t end_of(std::size_t begin) const {
    std::size_t end = begin + 1;
    if (is_break(text_[begin])) {
      while (at(end, is_break)) ++end;
      return end;
    }
    if (hyphens_ && after_word(begin) && end_of_dashes(begin) > begin) return end_of_dashes(begin);
    while (end < text_.size() && !is_break(text_[end])) {
      if (hyphens_ && (after_hyphen(begin, end) || (after_word(end) && end_of_dashes(end) > end))) break;
      ++end;
    }
    return end;
  }

  Characters text_;
  bool hyphens_;
};

bool is_blank(Characters text) {
  return std::ranges::all_of(text, [](char32_t c) { return is_space(c); });
}

// The part of a word longer than a line that still fits.
std::size_t part_that_fits(Characters word, std::size_t space, bool hyphens) {
  if (!hyphens || word.size() <= space) return space;
  const std::size_t hyphen = word.substr(0, space).rfind(U'-');
  const bool splits = hyphen != Characters::npos && word.substr(0, hyphen).find_first_not_of(U'-') < hyphen;
  return splits ? hyphen + 1 : space;
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, std::size_t width, const Wrapping& wrapping) {
  const std::u32string characters = decode_utf8(text);
  std::vector<Characters> chunks = Chunks(characters, wrapping.hyphens).split();
  std::ranges::reverse(chunks);  // the next one is the last
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    std::vector<Characters> line;
    std::size_t size = 0;
    const auto take = [&](std::size_t count) {
      line.push_back(chunks.back().substr(0, count));
      size += line.back().size();
      chunks.back().remove_prefix(line.back().size());
      if (chunks.back().empty()) chunks.pop_back();
    };
    if (is_blank(chunks.back()) && !lines.empty()) chunks.pop_back();
    while (!chunks.empty() && size + chunks.back().size() <= width) take(chunks.back().size());
    if (!chunks.empty() && chunks.back().size() > width) {
      if (wrapping.long_words)
        take(part_that_fits(chunks.back(), width - size, wrapping.hyphens));
      else if (line.empty())
        take(chunks.back().size());
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    std::string joined;
    for (const Characters part : line) joined += encoded(part);
    if (!line.empty()) lines.push_back(std::move(joined));
  }
  return lines;
}

}  // namespace attend::jinja
