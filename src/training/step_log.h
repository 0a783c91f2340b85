// A file of JSON lines {"step": ..., ...} that a run writes as it goes, and goes on with when it is resumed.
#pragma once

#include "formats/json.h"

#include <filesystem>

namespace attend {

class StepLog {
 public:
  // Goes on with what lies in `path` up to `step`: lines of later steps, of a run that was killed before it
  // could save, are dropped, and so is what is no such line.
  StepLog(std::filesystem::path path, std::int64_t step);
  // `line` has a step. Text that is not UTF-8 is repaired. Error if the line cannot be written.
  void write(const Json& line);

 private:
  std::filesystem::path path_;
};

// The lines of such a file in the order of their steps; none if there is no file. What is no such line is
// left out: the last one may be cut, if the disk was full or the run is killed right now.
std::vector<Json> read_step_log(const std::filesystem::path& path);

}  // namespace attend
