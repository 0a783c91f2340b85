// Remarks and warnings, for whoever asked for them (attend/log.h); never on standard output.
#pragma once

#include <attend/log.h>

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace attend {

void log_line(LogLevel level, std::string_view text);

// Said once per run about the work itself; silent with --quiet.
template <class... Args>
void inform(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::remark, fmt::format(format, std::forward<Args>(args)...));
}

// Something the user should know although the work goes on.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend
