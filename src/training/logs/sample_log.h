// The model's outputs at each validation: samples.jsonl; run.html shows the latest.
#pragma once

#include "training/logs/step_log.h"

#include <span>
#include <string>

namespace attend {

struct Sample {
  std::string input, expected, said;
};

class SampleLog {
 public:
  // Continues the file in `directory` after `step`, as MetricsLog does.
  SampleLog(const std::filesystem::path& directory, std::int64_t step);
  // One line {"step": ..., "samples": [{"input": ..., "expected": ..., "said": ...}, ...]}.
  void write(std::int64_t step, std::span<const Sample> samples);

 private:
  StepLog lines_;
};

struct SampledStep {
  std::int64_t step;
  std::vector<Sample> samples;
};
std::vector<SampledStep> read_samples(const std::filesystem::path& directory);

}  // namespace attend
