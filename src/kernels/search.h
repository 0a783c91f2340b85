// How similar a query is to each of many rows: what a search in stored vectors computes.
#pragma once

#include "kernels/kernels.h"

#include <cstdint>

namespace attend::kernels {

// As the public Similarity: distances are negative.
enum class Comparison { cosine, dot, euclidean, manhattan };

struct SearchQuery {
  Comparison comparison = Comparison::cosine;
  const float* numbers = nullptr;  // [width]
  std::int64_t width = 0;
  float length = 0;  // of `numbers`, for cosine
};

// A row's result does not depend on the other rows. It is not finite if the row is not.
struct SearchKernels {
  // rows [count, width] -> scores [count]
  void (*compare_floats)(const SearchQuery&, const float* rows, std::int64_t count, float* scores);
  // Number j of row i is rows[i, j] * scales[i].
  void (*compare_int8)(const SearchQuery&, const std::int8_t* rows, const float* scales, std::int64_t count,
                       float* scores);
  // rows [count, bytes] -> the number of bits in which each row differs from the query.
  void (*count_differences)(const std::uint8_t* query, const std::uint8_t* rows, std::int64_t bytes,
                            std::int64_t count, std::int32_t* differences);
};

// Those of the set of kernels(), or of the set with this name (find_kernels).
const SearchKernels& search_kernels();
const SearchKernels* find_search_kernels(const char* name);

}  // namespace attend::kernels
