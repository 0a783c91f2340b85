// Text files line by line.
#pragma once

#include "base/text_lines.h"

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Throws Error that begins with the place if the text is not valid UTF-8.
void check_utf8(std::string_view text, const std::string& place);
// Removes spaces, tabs and line ends on both sides.
std::string_view trimmed(std::string_view text);
// "a.tsv", or "a.tsv and 3 more": for messages.
std::string name_of_files(const std::vector<std::string>& files);

}  // namespace attend
