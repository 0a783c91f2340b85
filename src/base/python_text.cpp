#include "base/python_text.h"

#include "base/utf8.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include <utf8proc.h>

namespace attend {
namespace {

// Unicode's Cased: letters with a case, and symbols that look like them (in a circle, a square, as a number).
bool is_cased(char32_t c) {
  if (c == 0xaa || c == 0xba || (c >= 0x2160 && c <= 0x217f) || (c >= 0x24b6 && c <= 0x24e9) ||
      (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
    return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// Unicode's Case_Ignorable: marks, modifiers, and punctuation that may occur inside a word.
bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::u32string_view(
                 U"'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a")
                 .find(c) != std::u32string_view::npos;
  }
}

}  // namespace

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

namespace {

// Characters that Unicode 15 has assigned, but not Unicode 14, which Python 3.11's unicodedata uses.
constexpr std::pair<char32_t, char32_t> assigned_since[] = {
    {0xCF3, 0xCF3},     {0xECE, 0xECE},     {0x10EFD, 0x10EFF}, {0x1123F, 0x11241}, {0x11B00, 0x11B09},
    {0x11F00, 0x11F10}, {0x11F12, 0x11F3A}, {0x11F3E, 0x11F59}, {0x1342F, 0x1342F}, {0x13439, 0x13455},
    {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1D2C0, 0x1D2D3}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D},
    {0x1E08F, 0x1E08F}, {0x1E4D0, 0x1E4F9}, {0x1F6DC, 0x1F6DC}, {0x1F774, 0x1F776}, {0x1F77B, 0x1F77F},
    {0x1F7D9, 0x1F7D9}, {0x1FA75, 0x1FA77}, {0x1FA87, 0x1FA88}, {0x1FAAD, 0x1FAAF}, {0x1FABB, 0x1FABD},
    {0x1FABF, 0x1FABF}, {0x1FACE, 0x1FACF}, {0x1FADA, 0x1FADB}, {0x1FAE8, 0x1FAE8}, {0x1FAF7, 0x1FAF8},
    {0x2B739, 0x2B739}, {0x31350, 0x323AF}};

bool is_assigned_since(char32_t c) {
  const auto next = std::upper_bound(std::begin(assigned_since), std::end(assigned_since), c,
                                     [](char32_t value, const auto& range) { return value < range.first; });
  return next != std::begin(assigned_since) && c <= std::prev(next)->second;
}

}  // namespace

bool is_other(char32_t c) {
  if (is_assigned_since(c)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7f && !std::isalnum(static_cast<int>(c));
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO && !is_assigned_since(c);
}

bool is_nonspacing_mark(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_MN && !is_assigned_since(c);
}

int combining_class(char32_t c) {
  return is_assigned_since(c) ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (is_space(c.value)) {
      close(at);
      begin = at + c.size;
    }
    at += c.size;
  }
  close(text.size());
  return words;
}

std::string_view strip_end(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty()) return {};
  return text.substr(0, static_cast<std::size_t>(words.back().data() + words.back().size() - text.data()));
}

std::string_view strip(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  return words.empty() ? std::string_view() : strip_end(text).substr(words.front().data() - text.data());
}

bool is_final_sigma(std::u32string_view text, std::size_t at) {
  std::size_t before = at, after = at + 1;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return before > 0 && is_cased(text[before - 1]) && !(after < text.size() && is_cased(text[after]));
}

char32_t lowercase(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

std::string lowercase(std::string_view text) {
  const std::u32string given = decode_utf8(text);
  std::string result;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == U'\u0130') {
      result += "i\u0307";
    } else if (given[i] == U'\u03a3') {
      append_utf8(result, is_final_sigma(given, i) ? U'\u03c2' : U'\u03c3');
    } else {
      append_utf8(result, lowercase(given[i]));
    }
  }
  return result;
}

}  // namespace attend
