// The library's messages name fields. The command shows the flags that set them.
#pragma once

#include <string>
#include <string_view>

namespace attend::cli {

// A field in backquotes becomes its flag: "`max_length`" is "--max-length", "`header` false" is
// "--no-header". Other text in backquotes, such as a command, stays.
std::string with_flags(std::string_view message);

// As log_to_standard_error, with flags in messages.
void log_with_flags();

}  // namespace attend::cli
