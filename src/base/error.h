// The one exception type of the project, and the one way to raise it.
#pragma once

#include <attend/error.h>

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace attend {

// Raises Error. The message says what was expected, what came and, where it is not plain, what to do:
//   fail("{}: expected a JSON object, found {}", path, kind);
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend
