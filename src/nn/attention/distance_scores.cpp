#include "nn/attention/distance_scores.h"

namespace attend {
namespace {

// Of a table [heads, T, R] for each of a text's tokens, its rows [B, L]: the columns [B, L, M]. [B, heads, L,
// M]
Tensor of_tokens(const Tensor& table, const Tensor& rows, const Tensor& columns) {
  const std::int64_t heads = table.size(0), B = columns.size(0), L = columns.size(1), M = columns.size(2);
  return table
      .index_select(1, rows.flatten())  // [heads, B L, R]
      .gather(2, columns.reshape({1, B * L, M}).expand({heads, B * L, M}))
      .view({heads, B, L, M})
      .transpose(0, 1);
}

}  // namespace

std::vector<ScoreTerms::Term> distance_scores(const DistanceTensors& d, const DistancePlaces& places) {
  const std::int64_t B = places.distance.size(0), Lq = places.distance.size(1), Lk = places.distance.size(2);
  const Tensor columns =
      d.rows.index_select(0, (places.distance + d.zero).flatten()).to(kLong).view({B, Lq, Lk});
  std::vector<ScoreTerms::Term> terms;
  if (d.of_query.defined())
    terms.push_back({"query by distance", of_tokens(d.of_query, places.query_rows, columns)});
  if (d.of_key.defined())
    terms.push_back(
        {"key by distance", of_tokens(d.of_key, places.key_rows, columns.transpose(1, 2)).transpose(2, 3)});
  if (d.of_head.defined())
    terms.push_back(
        {"distance", d.of_head.index_select(1, columns.flatten()).view({-1, B, Lq, Lk}).transpose(0, 1)});
  if (d.of_segment.defined())
    terms.push_back({"segment", of_tokens(d.of_segment, places.query_rows, places.other_segment.to(kLong))});
  return terms;
}

}  // namespace attend
