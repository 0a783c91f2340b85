#include "metrics/ngrams.h"

#include "base/error.h"

#include <algorithm>

namespace attend {
namespace {

// The starts of all n-grams of a sequence, in the order of their contents.
std::vector<const std::uint32_t*> sorted_ngrams(std::span<const std::uint32_t> sequence, std::size_t n) {
  std::vector<const std::uint32_t*> starts;
  for (std::size_t i = 0; i + n <= sequence.size(); ++i) starts.push_back(sequence.data() + i);
  std::sort(starts.begin(), starts.end(), [n](const std::uint32_t* a, const std::uint32_t* b) {
    return std::lexicographical_compare(a, a + n, b, b + n);
  });
  return starts;
}

}  // namespace

NgramMatches& NgramMatches::operator+=(const NgramMatches& other) {
  hypothesis += other.hypothesis;
  reference += other.reference;
  matched += other.matched;
  return *this;
}

NgramMatches match_ngrams(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference,
                          std::size_t n) {
  const auto ours = sorted_ngrams(hypothesis, n), theirs = sorted_ngrams(reference, n);
  NgramMatches result{static_cast<std::int64_t>(ours.size()), static_cast<std::int64_t>(theirs.size()), 0};
  for (std::size_t i = 0, j = 0; i < ours.size() && j < theirs.size();) {
    const auto order = std::lexicographical_compare_three_way(ours[i], ours[i] + n, theirs[j], theirs[j] + n);
    if (order == 0) ++result.matched;
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return result;
}

std::vector<std::uint32_t> WordNumbers::of(std::span<const std::string_view> words) {
  std::vector<std::uint32_t> result;
  result.reserve(words.size());
  for (const std::string_view word : words)
    result.push_back(numbers_.try_emplace(word, static_cast<std::uint32_t>(numbers_.size())).first->second);
  return result;
}

void check_parallel(std::span<const std::string> hypotheses, std::span<const std::string> references) {
  if (hypotheses.size() != references.size())
    fail("expected one hypothesis for each of {} references, found {}", references.size(), hypotheses.size());
  if (hypotheses.empty()) fail("there are no sentences to score");
}

}  // namespace attend
