// BLEU: Papineni et al. 2002 (P02-1040), with the tokenization and smoothing of sacrebleu (Post 2018,
// arXiv:1804.08771). Scores equal sacrebleu's.
#pragma once

#include <attend/metrics.h>

#include "metrics/metric.h"
#include "metrics/ngrams.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attend {

BleuTokenizer bleu_tokenizer(std::string_view name);  // by its name; Error for an unknown one

// One score for all texts that were added, which must be valid UTF-8.
class BleuMetric : public Metric {
 public:
  explicit BleuMetric(const BleuOptions& options = {}) : options_(options) {}

  void add(std::string_view hypothesis, std::string_view reference);

  Bleu bleu() const;
  Figures figures() const override;  // bleu: 0 without texts

 private:
  BleuOptions options_;
  std::array<NgramMatches, 4> matches_{};  // of 1- to 4-grams
};

// sacrebleu's line: "BLEU|nrefs:1|... = 41.02 70.1/48.3/35.0/25.9 (BP = 0.983 ratio = 0.983 hyp_len = ...)".
std::string to_string(const Bleu& bleu);

// The words that `tokenizer` makes of a text, with one space between.
std::string bleu_words(std::string_view text, BleuTokenizer tokenizer);

}  // namespace attend
