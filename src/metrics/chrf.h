// chrF: Popovic 2015 (W15-3049) and chrF++: Popovic 2017 (W17-4770), equal to sacrebleu's.
#pragma once

#include <attend/metrics.h>

#include "metrics/metric.h"
#include "metrics/ngrams.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// One score for all texts that were added, which must be valid UTF-8.
class ChrfMetric : public Metric {
 public:
  explicit ChrfMetric(const ChrfOptions& options = {});

  void add(std::string_view hypothesis, std::string_view reference);

  Chrf chrf() const;
  Figures figures() const override;  // chrf: 0 without texts

 private:
  ChrfOptions options_;
  std::vector<NgramMatches> matches_;  // by order: of characters, then of words
};

std::string to_string(const Chrf& chrf);  // sacrebleu's line: "chrF2|nrefs:1|... = 62.13"

}  // namespace attend
