#include "metrics/retrieval.h"

#include "base/error.h"

namespace attend {

std::int64_t rank_of(std::span<const float> similarities, std::int64_t right) {
  if (right < 0 || static_cast<std::uint64_t>(right) >= similarities.size())
    fail("expected one of {} candidates to be the right one, found number {}", similarities.size(), right);
  const float similarity = similarities[static_cast<std::size_t>(right)];
  std::int64_t rank = 0;
  for (const float other : similarities)
    if (!(other < similarity)) ++rank;  // itself among them
  return rank;
}

void RetrievalMetric::add(std::int64_t rank) {
  if (rank < 1) fail("expected a rank from 1 on, found {}", rank);
  queries_ += 1;
  first_ += rank == 1;
  among_ten_ += rank <= 10;
  reciprocals_ += 1 / static_cast<double>(rank);
}

Figures RetrievalMetric::figures() const {
  const auto queries = static_cast<double>(queries_);
  return {{"recall@1", quotient(static_cast<double>(first_), queries)},
          {"recall@10", quotient(static_cast<double>(among_ten_), queries)},
          {"mrr", quotient(reciprocals_, queries)}};
}

}  // namespace attend
