// The kinds of characters; uppercase, lowercase and title case. All as in Python.
#pragma once

#include <string>
#include <string_view>

#include <utf8proc.h>

namespace attend::jinja {

utf8proc_category_t category_of(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_letter(char32_t c);
bool is_decimal(char32_t c);
bool is_numeral(char32_t c);
bool is_alphanumeric(char32_t c);
// \w of a regular expression: a letter, a numeral or an underscore.
bool is_word(char32_t c);
std::string encoded(std::u32string_view text);

std::string uppercase(const std::string& text);
std::string swapped_case(const std::string& text);
std::string capitalized(const std::string& text);
std::string title_case(const std::string& text);
// str.casefold(): for comparisons without case.
std::string case_folded(const std::string& text);

}  // namespace attend::jinja
