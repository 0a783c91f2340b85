// ROUGE (Lin 2004, W04-1013), equal to rouge_score's without a stemmer: words are runs of a-z and 0-9,
// lower-cased. A text in another script has no words and scores 0.
#pragma once

#include "metrics/metric.h"

#include <string_view>

namespace attend {

// F-measures of one text against its reference. L: the longest common subsequence of words, of the whole
// text; Lsum: of lines against lines, together. Time grows with the product of the texts' lengths,
// memory with that of their longest lines'.
struct Rouge {
  double rouge1 = 0, rouge2 = 0, rougeL = 0, rougeLsum = 0;
};
Rouge rouge(std::string_view hypothesis, std::string_view reference);  // valid UTF-8

class RougeMetric : public Metric {
 public:
  void add(std::string_view hypothesis, std::string_view reference);

  Figures figures() const override;  // rouge1, rouge2, rougeL, rougeLsum: means over texts, NaN without

 private:
  Rouge sum_;
  std::int64_t texts_ = 0;
};

}  // namespace attend
