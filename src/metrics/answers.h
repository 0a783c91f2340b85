// Answers cut out of texts: exact match and F1 of words, as SQuAD's script computes them in version 2
// (Rajpurkar et al. 2016, arXiv:1606.05250; 2018, arXiv:1806.03822).
#pragma once

#include "metrics/metric.h"

#include <span>
#include <string_view>

namespace attend {

// The normalized form of an answer for comparison: lower case, without ASCII punctuation, without a, an and
// the, one space between words. Text must be valid UTF-8.
std::string normalized_answer(std::string_view answer);

class AnswerMetric : public Metric {
 public:
  // The best over several expected answers counts. No expected answer, or none that has a word, means that
  // the question has none: an empty prediction is right.
  void add(std::string_view predicted, std::span<const std::string> expected);

  // exact_match and f1 in percent; if some questions have no answer, also has_answer_exact_match,
  // has_answer_f1 and no_answer_exact_match. NaN without examples.
  Figures figures() const override;

 private:
  struct Sum {
    double count = 0, exact = 0, f1 = 0;
  };
  Sum has_answer_, no_answer_;
};

}  // namespace attend
