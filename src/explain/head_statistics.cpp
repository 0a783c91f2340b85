#include "explain/head_statistics.h"

namespace attend {
namespace {

std::vector<float> as_numbers(const Tensor& heads) {
  const Tensor row = heads.to(kFloat).contiguous();
  const float* first = row.const_data<float>();
  return {first, first + row.numel()};
}

// The distance of each key from each query, in tokens. In a picture: Euclidean, in patches, and 0 to and from
// the token that represents the whole picture. [L, L]
Tensor distances(const ExplainedSide& side) {
  const auto L = static_cast<std::int64_t>(side.tokens.size());
  const Tensor places = ops::arange(L, kFloat);
  if (!side.picture) return (places.unsqueeze(0) - places.unsqueeze(1)).abs();
  const auto columns = static_cast<double>(side.picture->columns);
  const Tensor patch = places - 1, row = ops::floor(patch / columns), column = patch - row * columns;
  const auto apart = [](const Tensor& x) { return (x.unsqueeze(0) - x.unsqueeze(1)).square(); };
  Tensor far = (apart(row) + apart(column)).sqrt();
  far.select(0, 0).zero_();
  far.select(1, 0).zero_();
  return far;
}

}  // namespace

HeadStatistics head_statistics(const Tensor& weights, const ExplainedSide& queries, const ExplainedSide& keys,
                               std::int64_t memory) {
  const std::int64_t before = memory > 0 ? 1 : 0;
  const Tensor own = weights.narrow(2, before, weights.size(2) - before);  // [heads, Lq, Lk]
  HeadStatistics statistics;
  statistics.entropy = as_numbers(ops::entropy_terms(weights).sum(2).mean(1));
  if (&queries == &keys) {
    statistics.distance = as_numbers((own * distances(queries)).sum(2).mean(1));
    statistics.itself = as_numbers(own.diagonal(0, 1, 2).mean(1));
    const Tensor last = own.diagonal(-1, 1, 2);
    statistics.before = as_numbers(last.size(1) > 0 ? last.mean(1) : ops::zeros({own.size(0)}));
  }
  Tensor separator = ops::zeros({own.size(2)});
  for (std::int64_t j = 1; j < own.size(2); ++j)
    if (keys.tokens[static_cast<std::size_t>(j)].special) separator[j] = 1;
  statistics.first = as_numbers(own.select(2, 0).mean(1));
  statistics.separator = as_numbers(ops::matmul(own, separator).mean(1));
  return statistics;
}

}  // namespace attend
