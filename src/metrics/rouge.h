// ROUGE (Lin 2004, W04-1013), equal to rouge_score's without a stemmer: words are runs of a-z and 0-9,
// lower-cased. A text in another script has no words and scores 0.
#pragma once

#include <attend/metrics.h>

#include "metrics/metric.h"

#include <string_view>

namespace attend {

class RougeMetric : public Metric {
 public:
  void add(std::string_view hypothesis, std::string_view reference);

  Figures figures() const override;  // rouge1, rouge2, rougeL, rougeLsum: means over texts, NaN without

 private:
  Rouge sum_;
  std::int64_t texts_ = 0;
};

}  // namespace attend
