// The progress of a run: a line that is rewritten, and the metrics of every tenth step in the log.
#pragma once

#include "base/progress.h"
#include "training/agreement.h"
#include "training/logs/metrics_log.h"
#include "training/step.h"

namespace attend {

struct StepResult {
  StepGradients gradients;
  double norm = 0, rate = 0;
};

class ProgressReport {
 public:
  // `minutes`: the time limit of the run; 0: no limit.
  ProgressReport(Progress& progress, MetricsLog& log, std::vector<Term> terms, double minutes)
      : progress_(progress), log_(log), terms_(std::move(terms)), minutes_(minutes) {}

  // Call after step `step`, `seconds` after the run began; `scores` are those of the last validation.
  void say(std::int64_t step, const StepResult& result, const Agreement& read, double epochs, double seconds,
           const std::string& scores);

 private:
  Progress& progress_;
  MetricsLog& log_;
  std::vector<Term> terms_;
  double minutes_;
  double last_ = 0, tokens_per_second_ = 0, smoothed_loss_ = 0;
  std::int64_t since_last_ = 0, real_tokens_ = 0, padded_tokens_ = 0;
};

}  // namespace attend
