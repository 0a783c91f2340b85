// Metrics of generated texts, equal to those of sacrebleu and rouge_score.
#pragma once

#include <attend/export.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attend {
inline namespace v1 {

// How sentences become words, by sacrebleu's names 13a, intl, char and none. 13a is its default, and that of
// WMT.
enum class BleuTokenizer { mteval_13a, international, character, none };

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  bool lowercase = false;
};

// BLEU: Papineni et al. 2002 (P02-1040), with the tokenization and smoothing of sacrebleu (Post 2018,
// arXiv:1804.08771).
struct Bleu {
  double score = 0;                    // in percent
  std::array<double, 4> precisions{};  // in percent, of 1- to 4-grams
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // in words
  std::string signature;                                     // how it was computed: nrefs:1|case:mixed|...
};

// One score for all texts, which must be valid UTF-8: hypotheses[i] is compared with references[i]. Throws
// Error if there are none, or not as many of one as of the other.
ATTEND_API Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                            const BleuOptions& options = {});

// chrF: Popovic 2015 (W15-3049) and chrF++: Popovic 2017 (W17-4770).
struct ChrfOptions {
  std::size_t character_order = 6;
  std::size_t word_order = 0;  // 2 makes it chrF++
  double beta = 2;             // how much more recall counts than precision
  bool lowercase = false;
};

struct Chrf {
  double score = 0;       // in percent
  std::string name;       // chrF2; chrF2++ with words
  std::string signature;  // how it was computed: nrefs:1|case:mixed|...
};

// As corpus_bleu().
ATTEND_API Chrf corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                            const ChrfOptions& options = {});

// ROUGE (Lin 2004, W04-1013) without a stemmer, from 0 to 1: F-measures of one text against its reference.
// Words are runs of a-z and 0-9, lower-cased; a text in another script has no words and scores 0. L: the
// longest common subsequence of words, of the whole text; Lsum: of lines against lines, together. Time grows
// with the product of the texts' lengths, memory with that of their longest lines'.
struct Rouge {
  double rouge1 = 0, rouge2 = 0, rougeL = 0, rougeLsum = 0;
};
ATTEND_API Rouge rouge(std::string_view hypothesis, std::string_view reference);  // valid UTF-8

}  // namespace v1
}  // namespace attend
