// The exception that every function of Attend throws for bad input or failed work.
#pragma once

#include <attend/export.h>

#include <stdexcept>
#include <string>

namespace attend {
inline namespace v1 {

// What has to change.
enum class ErrorKind {
  input,   // a text, picture, tensor or row of the input data
  model,   // a model or tokenizer file: missing or malformed parts, an unsupported type
  call,    // options and settings, or a call that this model does not support
  system,  // the machine: a file that cannot be opened or written, out of memory
};

// what() is one line for a person: the file or option, what was expected, what came, what to do.
class ATTEND_API Error : public std::runtime_error {
 public:
  // Takes its kind from the current work of this thread: `model` while a model is loading, and so on.
  explicit Error(const std::string& what);
  Error(const std::string& what, ErrorKind kind) : std::runtime_error(what), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace v1
}  // namespace attend
