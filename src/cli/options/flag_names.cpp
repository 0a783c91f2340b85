#include "cli/options/flag_names.h"

#include "base/progress.h"
#include "base/standard_error.h"

#include <algorithm>

namespace attend::cli {
namespace {

bool is_field(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string with_flags(std::string_view message) {
  constexpr std::string_view kOff = " false";
  std::string result;
  while (!message.empty()) {
    const std::size_t begin = std::min(message.find('`'), message.size());
    result += message.substr(0, begin);
    message.remove_prefix(begin);
    const std::size_t end = message.find('`', std::min<std::size_t>(1, message.size()));
    if (end == message.npos) return result += message;
    const std::string_view name = message.substr(1, end - 1);
    if (!is_field(name)) {  // the quote after it may begin a field
      result += message.substr(0, end);
      message.remove_prefix(end);
      continue;
    }
    message.remove_prefix(end + 1);
    const bool off = message.starts_with(kOff);
    if (off) message.remove_prefix(kOff.size());
    std::string flag = (off ? "--no-" : "--") + std::string(name);
    std::ranges::replace(flag, '_', '-');
    result += flag;
  }
  return result;
}

void log_with_flags() {
  set_quiet(false);
  set_log([](LogLevel level, std::string_view text) { write_to_standard_error(level, with_flags(text)); });
}

}  // namespace attend::cli
