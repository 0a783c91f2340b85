// Whether a search by similarity finds the right one of many.
#pragma once

#include "metrics/metric.h"

#include <span>

namespace attend {

// The rank of candidate `right` by similarity, from 1. Ties and NaN count against it, so that a model with
// equal similarities finds nothing. Throws Error if there is no such candidate.
std::int64_t rank_of(std::span<const float> similarities, std::int64_t right);

class RetrievalMetric : public Metric {
 public:
  void add(std::int64_t rank);  // Error for a rank below 1

  // recall@1, recall@10 (the fraction of queries whose rank is at most that) and mrr (the mean of 1 / rank);
  // NaN without queries.
  Figures figures() const override;

 private:
  std::int64_t queries_ = 0, first_ = 0, among_ten_ = 0;
  double reciprocals_ = 0;
};

}  // namespace attend
