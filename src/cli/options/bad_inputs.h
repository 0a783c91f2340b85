// Inputs that cannot be answered: the others are still answered, in order, and the exit status is 1.
#pragma once

#include "base/error.h"
#include "formats/json/json.h"

#include <string>

#include <CLI/CLI.hpp>

namespace attend::cli {

class BadInputs {
 public:
  // --strict.
  void add_option(CLI::App& app);
  // Reports a bad input on standard error, when it is its turn to be answered. With --strict it throws an
  // Error instead, which ends the verb.
  void report(const std::string& error);
  int status() const { return any_ ? 1 : 0; }

 private:
  bool strict_ = false, any_ = false;
};

// The JSON that replaces the answer of a bad input.
Json error_json(const std::string& error);
// "FILE, line 3: the text ...": an error that names the input, unless it already does.
std::string name_input(const std::string& place, const std::string& error);

}  // namespace attend::cli
