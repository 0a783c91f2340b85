// Relative positions in the attention kernels: the terms that DistanceScores (kernels.h) adds to a row of
// scores, and their gradients.
#pragma once

#include "kernels/kernels.h"

namespace attend::kernels::ATTEND_ISA {

// One query of one head: its position in the sequence, and the rows of its and the keys' tables.
struct DistanceRow {
  const std::int32_t* row;  // [key]: the table row for each key
  std::int64_t R, query, key, head;
  std::int64_t query_row, key_begin, segments;  // in the whole batch; index of of_segment's two numbers

  DistanceRow(const Attention& a, std::int64_t head_number, std::int64_t its_row, std::int64_t first_key,
              std::int64_t place)
      : row(a.distance.row - place),
        R(a.distance.count),
        query((head_number * a.query_offsets[a.sequences] + its_row) * R),
        key((head_number * a.distance.key_rows + first_key) * R),
        head(head_number * R),
        query_row(its_row),
        key_begin(first_key),
        segments((head_number * a.query_offsets[a.sequences] + its_row) * 2) {}

  // Which of the two numbers applies to key j.
  std::int64_t other(const DistanceScores& d, std::int64_t j) const {
    return d.query_segment[query_row] != d.key_segment[key_begin + j] ? 1 : 0;
  }

  // Adds to the scores of keys [begin, end), of which scores[0] is the first.
  void add(const DistanceScores& d, float* scores, std::int64_t begin, std::int64_t end) const {
    if (d.of_query)
      for (std::int64_t j = begin; j < end; ++j) scores[j - begin] += d.of_query[query + row[j]];
    if (d.of_key)
      for (std::int64_t j = begin; j < end; ++j) scores[j - begin] += d.of_key[key + j * R + row[j]];
    if (d.of_head)
      for (std::int64_t j = begin; j < end; ++j) scores[j - begin] += d.of_head[head + row[j]];
    if (d.of_segment)
      for (std::int64_t j = begin; j < end; ++j) scores[j - begin] += d.of_segment[segments + other(d, j)];
  }

  // The backward pass of add; `sequence`: for the gradients that each sequence has separately.
  void collect(const Attention& a, const AttentionGradient& g, std::int64_t sequence, const float* gradients,
               std::int64_t begin, std::int64_t end) const {
    if (g.of_query)
      for (std::int64_t j = begin; j < end; ++j) g.of_query[query + row[j]] += gradients[j];
    if (g.of_key)
      for (std::int64_t j = begin; j < end; ++j) g.of_key[key + j * R + row[j]] += gradients[j];
    if (g.of_segment)
      for (std::int64_t j = begin; j < end; ++j)
        g.of_segment[segments + other(a.distance, j)] += gradients[j];
    if (g.of_head) {
      float* own = g.of_head + sequence * a.heads * R + head;
      for (std::int64_t j = begin; j < end; ++j) own[row[j]] += gradients[j];
    }
  }
};

}  // namespace attend::kernels::ATTEND_ISA
