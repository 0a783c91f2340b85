// A verb of the command line: `attend NAME ...`. Each has its own file, which only parses and calls.
#pragma once

#include "base/error.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

// A verb parses its own arguments (argv[0] is its name) and returns the exit status. It may throw Error.
using RunVerb = int (*)(int argc, char** argv);

struct Verb {
  const char* name;
  const char* summary;  // one line in `attend --help`
  RunVerb run;
};

// Every verb there is, in the order of `attend --help`.
std::span<const Verb> verbs();

// Options that every verb has.
struct CommonOptions {
  std::size_t threads = 0;  // 0: one per core
  bool quiet = false;
};

// The parser of one verb: name, description and an example in its help, the common options, --config.
class Parser {
 public:
  Parser(std::string name, std::string description, std::string example);
  CLI::App& app() { return app_; }
  CommonOptions& common() { return common_; }

  // Parses and applies the common options. Returns the exit status if the verb should end now (--help: 0, a
  // wrong call: 2), or none.
  std::optional<int> parse(int argc, char** argv);

 private:
  CLI::App app_;
  CommonOptions common_;
};

// Checks of numbers. (The messages of CLI11's own write out the largest double.)
inline CLI::Validator not_negative() {
  return {[](const std::string& text) {
            return text.starts_with('-') ? "expected 0 or more, found " + text : std::string();
          },
          "NONNEGATIVE"};
}
inline CLI::Validator positive() {
  return {[](const std::string& text) {
            double number = 1;  // anything that is not a number is rejected when it is read
            return CLI::detail::lexical_cast(text, number) && number <= 0
                       ? "expected more than 0, found " + text
                       : std::string();
          },
          "POSITIVE"};
}

// Calls work(), whose Errors are about the content of `file`.
template <class Work>
auto naming_file(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
}

// Positional arguments that are texts, any number of them, verbatim. (CLI11 reads "[a, b]" as a list of a and
// b if an option may take extra arguments, and gives positional lists that permission.)
CLI::Option* add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& texts,
                       const std::string& help);

}  // namespace attend::cli
