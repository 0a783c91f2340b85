// Text in UTF-8, line by line: from files and from streams.
#pragma once

#include <string>
#include <string_view>

namespace attend {

// `text` without the byte order mark that some editors write before UTF-8. Error if it begins with the mark
// of UTF-16 or UTF-32, which nothing here reads; `source` names the text.
std::string_view without_byte_order_mark(std::string_view text, const std::string& source);

}  // namespace attend
