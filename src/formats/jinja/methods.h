// The methods of strings, lists and dicts.
#pragma once

#include "formats/jinja/value.h"

namespace attend::jinja {

// None if Python has no such method. Methods that would change the value are undefined, as in transformers'
// sandbox.
std::optional<Value> method_of(const Value& value, const std::string& name);

// For strings; filters also use them.
std::string stripped(const std::string& text, const Value& characters, bool front, bool end);
// `count` < 0: all occurrences.
std::string replaced(const std::string& text, const std::string& from, const std::string& to,
                     std::int64_t count);
std::string centered(const std::string& text, std::int64_t width, const std::string& fill = " ");
// str.splitlines(): also at the separators of Unicode.
std::vector<std::string> lines_of(const std::string& text, bool keep_ends = false);
// Counts runs of letters, digits and underscores.
std::int64_t count_words(const std::string& text);

}  // namespace attend::jinja
