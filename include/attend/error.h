// The exception that every function of Attend throws when its input is wrong or its work cannot be done.
#pragma once

#include <attend/export.h>

#include <stdexcept>
#include <string>

namespace attend {

// Who has to change something.
enum class ErrorKind {
  input,   // a text, picture, tensor or row of data that was to be worked on
  model,   // a file of a model or tokenizer: missing parts, misshapen, of a kind that is not supported
  call,    // options and settings, or what was asked of a model that cannot do it
  system,  // the machine: a file that cannot be opened or written, no memory
};

// what() is one line for a person: the file or option, what was expected, what came, what to do.
class ATTEND_API Error : public std::runtime_error {
 public:
  // Of the kind of work that this thread is at: a model's while one is loaded, and so on.
  explicit Error(const std::string& what);
  Error(const std::string& what, ErrorKind kind) : std::runtime_error(what), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace attend
