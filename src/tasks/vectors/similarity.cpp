// The similarity of two vectors.
#include <attend/similarity.h>

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attend {

namespace {

// Sums `combine` over all pairs of numbers.
template <class Combine>
double sum(const std::vector<float>& a, const std::vector<float>& b, Combine combine) {
  if (a.size() != b.size()) fail("the similarity of vectors of {} and {} numbers", a.size(), b.size());
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(), combine);
}

double product(double x, double y) {
  return x * y;
}

}  // namespace

float v1::cosine_similarity(const std::vector<float>& a, const std::vector<float>& b) {
  const double both = sum(a, b, product), norms = std::sqrt(sum(a, a, product) * sum(b, b, product));
  return norms == 0 ? 0 : static_cast<float>(both / norms);
}

float v1::similarity(const std::vector<float>& a, const std::vector<float>& b, Similarity kind) {
  switch (kind) {
    case Similarity::cosine:
      return cosine_similarity(a, b);
    case Similarity::dot:
      return static_cast<float>(sum(a, b, product));
    case Similarity::euclidean:
      return static_cast<float>(-std::sqrt(sum(a, b, [](double x, double y) { return (x - y) * (x - y); })));
    case Similarity::manhattan:
      return static_cast<float>(-sum(a, b, [](double x, double y) { return std::abs(x - y); }));
  }
  fail("unknown similarity");
}

std::vector<Neighbour> v1::nearest(const std::vector<float>& vector,
                                   const std::vector<std::vector<float>>& among, std::size_t max_count,
                                   Similarity kind) {
  std::vector<Neighbour> all;
  for (std::size_t i = 0; i < among.size(); ++i) all.push_back({i, similarity(vector, among[i], kind)});
  std::ranges::stable_sort(all, std::greater<>(), &Neighbour::similarity);
  all.resize(std::min(all.size(), max_count));
  return all;
}

}  // namespace attend
