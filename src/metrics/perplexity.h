// How surprised a language model is: the mean loss of a token, and e to the power of it.
#pragma once

#include "metrics/metric.h"

namespace attend {

class PerplexityMetric : public Metric {
 public:
  // Negative log-probabilities in nats, summed over `tokens` tokens.
  void add(double loss_sum, std::int64_t tokens) {
    loss_ += loss_sum;
    tokens_ += tokens;
  }

  Figures figures() const override;  // loss, perplexity: NaN without tokens

 private:
  double loss_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace attend
