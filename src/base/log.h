// Log lines on standard error ("attend: ..."), never on standard output.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace attend {

void log_line(std::string_view level, std::string_view text);  // through spdlog

// Said once per run about the work itself; silent with --quiet.
template <class... Args>
void inform(fmt::format_string<Args...> format, Args&&... args) {
  log_line("info", fmt::format(format, std::forward<Args>(args)...));
}

// Something the user should know although the work goes on.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  log_line("warning", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend
