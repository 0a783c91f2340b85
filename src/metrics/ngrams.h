// N-grams that two sentences share, as BLEU, chrF and ROUGE count them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend {

// How many n-grams two sequences have and share. An n-gram that occurs a times in one and b times in the
// other is shared min(a, b) times.
struct NgramMatches {
  std::int64_t hypothesis = 0, reference = 0, matched = 0;

  NgramMatches& operator+=(const NgramMatches& other);
};
NgramMatches match_ngrams(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference,
                          std::size_t n);

// Numbers for words, the same for the same word, so that n-grams of them are quick to compare. The words must
// live as long as it does.
class WordNumbers {
 public:
  std::vector<std::uint32_t> of(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// Error unless there are as many hypotheses as references, and at least one.
void check_parallel(std::span<const std::string> hypotheses, std::span<const std::string> references);

}  // namespace attend
