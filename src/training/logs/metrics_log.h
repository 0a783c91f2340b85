// A run's metrics over time: metrics.jsonl for programs, TensorBoard events for people.
#pragma once

#include "formats/tensorboard.h"
#include "training/logs/step_log.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace attend {

class MetricsLog {
 public:
  // Continues the files in `directory` after `step`: lines of later steps, left by a killed run, are removed.
  MetricsLog(const std::filesystem::path& directory, std::int64_t step);
  // One line {"step": ..., "name": value, ...}.
  void write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  StepLog lines_;
  TensorBoardWriter events_;
};

}  // namespace attend
