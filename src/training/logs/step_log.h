// A file of JSON lines {"step": ..., ...} that a run writes, and continues when it is resumed.
#pragma once

#include "formats/json/json.h"

#include <filesystem>

namespace attend {

class StepLog {
 public:
  // Continues `path` after `step`: removes lines of later steps, left by a killed run, and invalid lines.
  StepLog(std::filesystem::path path, std::int64_t step);
  // `line` has a step. Text that is not UTF-8 is repaired. Throws Error if the line cannot be written.
  void write(const Json& line);

 private:
  std::filesystem::path path_;
};

// The lines of such a file sorted by step; empty if there is no file. Invalid lines are ignored: the last one
// may be incomplete, if the disk was full or the run is being killed.
std::vector<Json> read_step_log(const std::filesystem::path& path);

}  // namespace attend
