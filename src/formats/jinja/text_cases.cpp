#include "formats/jinja/text_cases.h"

#include "base/python_text.h"
#include "base/utf8.h"

#include <algorithm>

namespace attend::jinja {
namespace {

char32_t upper_of(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

// Letters that become several in upper case.
struct LongCase {
  char32_t letter;
  std::u32string_view upper, title;
};
constexpr LongCase kLongCases[] = {{U'ß', U"SS", U"Ss"},   {U'ŉ', U"ʼN", U"ʼN"},   {U'ǰ', U"J̌", U"J̌"},
                                   {U'ﬀ', U"FF", U"Ff"},   {U'ﬁ', U"FI", U"Fi"},   {U'ﬂ', U"FL", U"Fl"},
                                   {U'ﬃ', U"FFI", U"Ffi"}, {U'ﬄ', U"FFL", U"Ffl"}, {U'ﬅ', U"ST", U"St"},
                                   {U'ﬆ', U"ST", U"St"}};

void append_upper(std::u32string& text, char32_t c) {
  const auto found = std::ranges::find(kLongCases, c, &LongCase::letter);
  if (found != std::end(kLongCases))
    text += found->upper;
  else
    text += upper_of(c);
}
void append_title(std::u32string& text, char32_t c) {
  const auto found = std::ranges::find(kLongCases, c, &LongCase::letter);
  if (found != std::end(kLongCases))
    text += found->title;
  else
    text += static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}
bool is_upper(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_LU;
}
bool is_lower(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_LL;
}

bool is_letter(char32_t c) {
  const auto category = category_of(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_ND;
}
bool is_numeral(char32_t c) {
  return is_decimal(c) || category_of(c) == UTF8PROC_CATEGORY_NL || category_of(c) == UTF8PROC_CATEGORY_NO;
}
bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_numeral(c);
}
bool is_word(char32_t c) {
  return c == U'_' || is_alphanumeric(c);
}

std::string encoded(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) append_utf8(result, c);
  return result;
}

std::string swapped_case(const std::string& text) {
  std::u32string result;
  for (const char32_t c : decode_utf8(text)) {
    if (is_upper(c))
      result += lowercase(c);
    else
      append_upper(result, c);
  }
  return encoded(result);
}

std::string uppercase(const std::string& text) {
  std::u32string result;
  for (const char32_t c : decode_utf8(text)) append_upper(result, c);
  return encoded(result);
}

std::string capitalized(const std::string& text) {
  if (text.empty()) return text;
  const CodePoint first = decode_utf8(text, 0);
  std::u32string result;
  append_title(result, first.value);
  return encoded(result) + lowercase(std::string_view(text).substr(first.size));
}

std::string title_case(const std::string& text) {
  std::u32string result;
  bool inside = false;
  for (const char32_t c : decode_utf8(text)) {
    if (inside)
      result += lowercase(c);
    else
      append_title(result, c);
    inside = is_upper(c) || is_lower(c) || category_of(c) == UTF8PROC_CATEGORY_LT;
  }
  return encoded(result);
}

std::string case_folded(const std::string& text) {
  std::u32string result;
  for (const char32_t c : decode_utf8(text)) {
    utf8proc_int32_t folded[8];
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, std::size(folded),
                                               UTF8PROC_CASEFOLD, nullptr);
    for (utf8proc_ssize_t i = 0; i < count; ++i) result += static_cast<char32_t>(folded[i]);
  }
  return encoded(result);
}

}  // namespace attend::jinja
