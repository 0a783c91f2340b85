// BLEU: Papineni et al. 2002 (P02-1040), with the tokenization and smoothing of sacrebleu (Post 2018,
// arXiv:1804.08771). Scores equal sacrebleu's.
#pragma once

#include "metrics/metric.h"
#include "metrics/ngrams.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attend {

// How sentences become words, by sacrebleu's names 13a, intl, char and none. 13a is its default, and that of
// WMT.
enum class BleuTokenizer { mteval_13a, international, character, none };
BleuTokenizer bleu_tokenizer(std::string_view name);  // Error for an unknown name

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  bool lowercase = false;
};

struct Bleu {
  double score = 0;                    // in percent
  std::array<double, 4> precisions{};  // in percent, of 1- to 4-grams
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // in words
  std::string signature;                                     // how it was computed: nrefs:1|case:mixed|...
};

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

// The same of texts that are at hand: hypotheses[i] against references[i]. Error if there are none.
Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                 const BleuOptions& options = {});

// sacrebleu's line: "BLEU|nrefs:1|... = 41.02 70.1/48.3/35.0/25.9 (BP = 0.983 ratio = 0.983 hyp_len = ...)".
std::string to_string(const Bleu& bleu);

// The words that `tokenizer` makes of a text, with one space between.
std::string bleu_words(std::string_view text, BleuTokenizer tokenizer);

}  // namespace attend
