// Messages and warnings for the handler of attend/log.h; never on standard output.
#pragma once

#include <attend/log.h>

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace attend {

void log_line(LogLevel level, std::string_view text);

// Information about the work, once per run; silent with --quiet.
template <class... Args>
void inform(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::remark, fmt::format(format, std::forward<Args>(args)...));
}

// A possible problem; the work continues.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend
