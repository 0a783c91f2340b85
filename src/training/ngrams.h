// N-grams that two sentences share, as BLEU and chrF count them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace attend {

// How many n-grams two sequences have and share. An n-gram that occurs a times in one and b times in the
// other is shared min(a, b) times.
struct NgramMatches {
  std::int64_t hypothesis = 0, reference = 0, matched = 0;

  NgramMatches& operator+=(const NgramMatches& other);
};
NgramMatches match_ngrams(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference,
                          std::size_t n);

// Error unless there are as many hypotheses as references, and at least one.
void check_parallel(std::span<const std::string> hypotheses, std::span<const std::string> references);

}  // namespace attend
