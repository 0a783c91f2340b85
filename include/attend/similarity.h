// How similar vectors are, and the nearest ones.
#pragma once

#include <attend/export.h>

#include <cstddef>
#include <vector>

namespace attend {
inline namespace v1 {

// Similarity of two vectors, as in sentence-transformers. For euclidean and manhattan it is the negative
// distance.
enum class Similarity { cosine, dot, euclidean, manhattan };
ATTEND_API float similarity(const std::vector<float>& a, const std::vector<float>& b, Similarity kind);
// Cosine similarity of two vectors of the same size, from -1 to 1.
ATTEND_API float cosine_similarity(const std::vector<float>& a, const std::vector<float>& b);

// A search result: the index of a vector and its similarity to the query.
struct Neighbour {
  std::size_t number = 0;
  float similarity = 0;
};
// The `max_count` most similar vectors, best first. Equal ones keep their order.
ATTEND_API std::vector<Neighbour> nearest(const std::vector<float>& vector,
                                          const std::vector<std::vector<float>>& among, std::size_t max_count,
                                          Similarity kind = Similarity::cosine);

}  // namespace v1
}  // namespace attend
