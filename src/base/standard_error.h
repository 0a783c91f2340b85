// The log on standard error, for handlers that change its lines first.
#pragma once

#include <attend/log.h>

#include <string_view>

namespace attend {

// Writes a log line as log_to_standard_error does: no remarks with --quiet, and the progress line is hidden.
void write_to_standard_error(LogLevel level, std::string_view text);

}  // namespace attend
