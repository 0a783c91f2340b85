// The one exception type of the project, and the one way to throw it.
#pragma once

#include <attend/error.h>

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace attend {

// While it lives, errors of this thread have this kind, unless they name another.
class ErrorScope {
 public:
  explicit ErrorScope(ErrorKind kind);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  static ErrorKind kind();  // of the innermost scope; without one: call

 private:
  ErrorKind before_;
};

// Throws Error. The message says what was expected, what came and, if it is not obvious, what to do:
//   fail("{}: expected a JSON object, found {}", path, kind);
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}
// The same, for failures of the machine (ErrorKind::system).
template <class... Args>
[[noreturn]] void fail_system(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), ErrorKind::system);
}

}  // namespace attend
