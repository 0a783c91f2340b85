// The inputs of `attend run`: arguments, or lines of standard input, which may be JSON.
#pragma once

#include "cli/run_task.h"

#include <optional>

namespace attend::cli {

struct InputOptions {
  std::vector<std::string> texts;
  bool json = false;  // lines of standard input are JSON: objects with fields, or texts
};

class InputReader {
 public:
  InputReader(const InputOptions& options, const Task& task);
  // The next inputs, some hundreds of them; one line at a time where a person types them. Empty: no more.
  std::vector<Fields> next();
  std::size_t total() const { return given_.size(); }  // 0: not known

 private:
  std::vector<Fields> read_lines();

  const Task& task_;
  bool json_, standard_input_;
  std::vector<Fields> given_;
  std::size_t at_ = 0;  // of given_, or the number of the last line
};

}  // namespace attend::cli
