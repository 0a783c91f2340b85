#include "tokenizers/text/unicode.h"

#include "tokenizers/text/unicode_corrections.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <utf8proc.h>

namespace attend::unicode {

namespace detail {
std::atomic<const std::uint16_t*> pages[page_count];
}

namespace {

bool in(char32_t c, char32_t first, char32_t last) {
  return first <= c && c <= last;
}

// BERT's blocks; the gap before U+2B920 is in the original too.
bool is_ideograph(char32_t c) {
  return in(c, 0x4E00, 0x9FFF) || in(c, 0x3400, 0x4DBF) || in(c, 0x20000, 0x2A6DF) ||
         in(c, 0x2A700, 0x2B73F) || in(c, 0x2B740, 0x2B81F) || in(c, 0x2B920, 0x2CEAF) ||
         in(c, 0xF900, 0xFAFF) || in(c, 0x2F800, 0x2FA1F);
}

bool is_white_space(char32_t c) {
  return in(c, 0x09, 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || in(c, 0x2000, 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// utf8proc has no Alphabetic property; besides letters, letter numbers and marks, these have it.
bool is_alphabetic_symbol(char32_t c) {
  return in(c, 0x24B6, 0x24E9) || in(c, 0x1F130, 0x1F149) || in(c, 0x1F150, 0x1F169) ||
         in(c, 0x1F170, 0x1F189);
}

// Digits that are not decimal (Numeric_Type=Digit): superscripts, numbers in circles, Ethiopic and others.
constexpr Range other_digits[] = {
    {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
    {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
    {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
    {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};

bool in(char32_t c, std::span<const Range> ranges) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

std::uint16_t compute_classes(char32_t c) {
  const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  const int category = property.category;
  const bool letter_ = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool mark_ = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
  const bool number_ = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
  const bool ascii_punctuation = in(c, '!', '/') || in(c, ':', '@') || in(c, '[', '`') || in(c, '{', '~');
  std::uint16_t result = 0;
  const auto set = [&](Class what, bool value, std::span<const Range> wrong = {}) {
    if (value != in(c, wrong)) result |= what;
  };
  set(whitespace, is_white_space(c));
  set(letter, letter_, wrong_letter);
  set(number, number_, wrong_number);
  set(numeric, number_, wrong_numeric);
  set(punctuation,
      ascii_punctuation || (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO),
      wrong_punctuation);
  set(other,
      category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
          category == UTF8PROC_CATEGORY_CO,
      wrong_other);
  set(nonspacing_mark, category == UTF8PROC_CATEGORY_MN, wrong_nonspacing_mark);
  set(mark, mark_, wrong_mark);
  set(word,
      letter_ || mark_ || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
          category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || is_alphabetic_symbol(c),
      wrong_word);
  set(ideograph, is_ideograph(c));
  set(cased,
      utf8proc_tolower(static_cast<utf8proc_int32_t>(c)) != static_cast<utf8proc_int32_t>(c) || c == 0x130,
      wrong_lowercase);
  set(digit, category == UTF8PROC_CATEGORY_ND || in(c, other_digits));
  // comb_index means that the code point takes part in a composition.
  set(unstable,
      c >= 0x80 && (property.decomp_seqindex != UINT16_MAX || property.combining_class != 0 ||
                    property.comb_index != UINT16_MAX || in(c, 0xAC00, 0xD7A3) || in(c, 0x1100, 0x11FF)));
  return result;
}

// A full decomposition: up to 18 code points (U+FDFA).
struct Decomposition {
  std::array<utf8proc_int32_t, 32> values;
  std::size_t size;
};

Decomposition decompose(char32_t c, Form form) {
  static constexpr Range not_decomposed_by_python[] = {{0x1E030, 0x1E06D}};  // new in Unicode 15
  const bool compatible = form != Form::nfc && form != Form::nfd;
  const bool stays = form == Form::python_nfkd
                         ? in(c, not_decomposed_by_python)
                         : in(c, not_decomposed) || (compatible && in(c, not_decomposed_compatible));
  Decomposition result;
  if (stays) {
    result.values[0] = static_cast<utf8proc_int32_t>(c);
    result.size = 1;
    return result;
  }
  int boundary = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const auto size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), result.values.data(), result.values.size(),
                              static_cast<utf8proc_option_t>(options), &boundary);
  result.size = static_cast<std::size_t>(std::max<utf8proc_ssize_t>(size, 0));
  return result;
}

// The code point for `first` followed by `second`, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (!is(second, unstable) || in(first, not_decomposed) || in(second, not_decomposed)) return 0;
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto size =
      utf8proc_normalize_utf32(pair, 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (size != 1) return 0;
  const auto result = static_cast<char32_t>(pair[0]);
  return in(result, not_decomposed) ? 0 : result;
}

// Appends the decomposed text in canonical order.
void append_decomposed(std::string_view text, Form form, std::vector<Step>& steps) {
  struct Ordered {
    Step step;
    int combining_class;
  };
  std::vector<Ordered> run;  // code points since the last starter, not yet sorted
  const auto flush = [&] {
    std::stable_sort(run.begin(), run.end(), [](const Ordered& a, const Ordered& b) {
      return a.combining_class < b.combining_class;
    });
    for (const Ordered& item : run) steps.push_back(item.step);
    run.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, size] = decode(text.data() + at);
    at += size;
    if (!is(c, unstable)) {
      flush();
      steps.push_back({c, 0});
      continue;
    }
    const Decomposition parts = decompose(c, form);
    for (std::size_t i = 0; i < parts.size; ++i) {
      const auto value = static_cast<char32_t>(parts.values[i]);
      const int order = combining_class(value);
      if (order == 0) flush();
      run.push_back({{value, i == 0 ? 0 : 1}, order});
    }
  }
  flush();
}

// Canonical composition in place. A composed code point replaces all of its parts.
void compose_steps(std::vector<Step>& steps, std::size_t begin) {
  std::size_t kept = begin;
  std::size_t starter = SIZE_MAX;
  int last_class = -1;  // of the code point last kept after the starter; -1: none
  for (std::size_t i = begin; i < steps.size(); ++i) {
    const Step step = steps[i];
    const int order = combining_class(step.value);
    if (starter != SIZE_MAX && (last_class == -1 || last_class < order)) {
      if (const char32_t composed = compose(steps[starter].value, step.value)) {
        steps[starter] = {composed, steps[starter].change + step.change - 1};
        continue;
      }
    }
    steps[kept] = step;
    if (order == 0) {
      starter = kept;
      last_class = -1;
    } else if (starter != SIZE_MAX) {
      last_class = order;
    }
    ++kept;
  }
  steps.resize(kept);
}

}  // namespace

const std::uint16_t* detail::fill_page(std::size_t page) {
  auto* filled = new std::uint16_t[256];
  for (char32_t i = 0; i < 256; ++i) filled[i] = compute_classes(static_cast<char32_t>(page << 8) + i);
  const std::uint16_t* expected = nullptr;
  if (!pages[page].compare_exchange_strong(expected, filled, std::memory_order_acq_rel)) {
    delete[] filled;  // another thread was first
    return expected;
  }
  return filled;  // never freed
}

// The combining class in Unicode 9, the version of the normal forms: code points that are not marks have
// none.
int combining_class(char32_t c) {
  return is(c, mark) ? utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class : 0;
}

std::size_t count(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text.data() + at, 8);
    if ((eight & 0x8080808080808080u) != 0) return false;
  }
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

void append_lowercase(char32_t c, std::vector<Step>& steps) {
  if (!is(c, cased)) {
    steps.push_back({c, 0});
  } else if (c == 0x130) {
    steps.push_back({'i', 0});
    steps.push_back({0x307, 1});
  } else {
    const auto lower = std::lower_bound(std::begin(other_lowercase), std::end(other_lowercase), c,
                                        [](const Pair& pair, char32_t value) { return pair.from < value; });
    const bool listed = lower != std::end(other_lowercase) && lower->from == c;
    steps.push_back(
        {listed ? lower->to : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), 0});
  }
}

void normalize(std::string_view text, Form form, std::vector<Step>& steps) {
  const std::size_t begin = steps.size();
  append_decomposed(text, form, steps);
  if (form == Form::nfc || form == Form::nfkc) compose_steps(steps, begin);
}

}  // namespace attend::unicode
