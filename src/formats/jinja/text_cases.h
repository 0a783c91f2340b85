// Uppercase, lowercase and title case, as in Python.
#pragma once

#include <string>
#include <string_view>

#include <utf8proc.h>

namespace attend::jinja {

utf8proc_category_t category_of(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
std::string encoded(std::u32string_view text);

std::string uppercase(const std::string& text);
std::string swapped_case(const std::string& text);
std::string capitalized(const std::string& text);
std::string title_case(const std::string& text);

}  // namespace attend::jinja
