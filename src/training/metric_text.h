// What BLEU and chrF share: words, lower case and matching n-grams, each exactly as Python (in which
// sacrebleu is written) has it, so that scores can be compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// str.split(): maximal runs without white space, Unicode's included. The views are into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// str.rstrip().
std::string_view strip_end(std::string_view text);

// str.lower(), with its two cases that are not letter by letter: capital sigma at a word's end, dotted I.
std::string lowercase(std::string_view text);

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
