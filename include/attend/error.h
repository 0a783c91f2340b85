// The exception that every function of Attend throws when its input is wrong or its work cannot be done.
#pragma once

#include <stdexcept>

namespace attend {

// what() is one line for a person: the file or option, what was expected, what came, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace attend
