// chrF: Popovic 2015 (W15-3049) and chrF++: Popovic 2017 (W17-4770), equal to sacrebleu's.
#pragma once

#include "metrics/metric.h"
#include "metrics/ngrams.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

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

// One score for all texts that were added, which must be valid UTF-8.
class ChrfMetric : public Metric {
 public:
  explicit ChrfMetric(const ChrfOptions& options = {});

  void add(std::string_view hypothesis, std::string_view reference);

  Chrf chrf() const;
  Figures figures() const override;  // chrf: 0 without texts

 private:
  ChrfOptions options_;
  std::vector<NgramMatches> matches_;  // by order: of characters, then of words
};

// The same of texts that are at hand: hypotheses[i] against references[i]. Error if there are none.
Chrf corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                 const ChrfOptions& options = {});

std::string to_string(const Chrf& chrf);  // sacrebleu's line: "chrF2|nrefs:1|... = 62.13"

}  // namespace attend
