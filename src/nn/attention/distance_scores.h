// What relative positions add to attention's scores, with tensor operations.
#pragma once

#include "nn/attention/attention_function.h"

#include <vector>

namespace attend {

// Of B texts with Lq queries and Lk keys each.
struct DistancePlaces {
  Tensor query_rows, key_rows;  // [B, Lq], [B, Lk] int64: their rows of the tables
  Tensor distance;              // [B, Lq, Lk] int64: key - query, or what else the tables count
  Tensor other_segment = {};    // [B, Lq, Lk] bool; read if there is a table of segments
};

// Term by term: [B, heads, Lq, Lk].
std::vector<ScoreTerms::Term> distance_scores(const DistanceTensors& d, const DistancePlaces& places);

}  // namespace attend
