// The one exception type of the project, and the one way to raise it.
#pragma once

#include <attend/error.h>

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace attend {

// While one lives, errors of this thread are of this kind, unless whoever raises them says another.
class ErrorScope {
 public:
  explicit ErrorScope(ErrorKind kind);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  static ErrorKind kind();  // of the innermost; without one: call

 private:
  ErrorKind before_;
};

// Raises Error. The message says what was expected, what came and, where it is not plain, what to do:
//   fail("{}: expected a JSON object, found {}", path, kind);
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}
// The same where it is the machine that does not do what it should.
template <class... Args>
[[noreturn]] void fail_system(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), ErrorKind::system);
}

}  // namespace attend
