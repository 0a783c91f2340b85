// Permutation language modelling (XLNet; Yang et al. 2019, arXiv:1906.08237, sections 2.2 and 2.3): a text's
// order is drawn, and its last tokens are predicted, each from those before it in that order.
//
// Which tokens these are is drawn as by transformers' DataCollatorForPermutationLanguageModeling, in spans
// with unpredicted text around them. Unlike there
// - the order is that of the whole text, of any length: no half of it becomes a memory;
// - a later token sees what an earlier one is, as the paper has it, where the collator writes a mask;
// - special tokens see no token that is predicted; there they do and, seen by all, tell of it.
#pragma once

#include "data/token_rows.h"
#include "nn/two_streams.h"
#include "objectives/objective.h"
#include "objectives/text_frame.h"

namespace attend {

struct PredictedSpans {
  double rate = 1.0 / 6;     // share of the tokens, on average
  std::int64_t longest = 5;  // spans have from 1 to so many tokens, each number as often
};

// Which of a text's tokens are predicted, in their order: after another a span, anywhere in a piece of the
// text that is span / rate tokens long.
std::vector<std::int64_t> draw_predicted(std::int64_t length, const PredictedSpans& spans, Random& random);

// A text of these ids, types of them or none, with what is predicted of it: at least one token, if there are
// two to begin with, and never all of them. `special`: which ids are not predicted.
PermutedText permute(const EncodedText& text, const std::vector<bool>& special, const PredictedSpans& spans,
                     Random& random);

class PermutationLanguageModel : public Objective {
 public:
  // Sentences of one document side by side, as many as fit.
  explicit PermutationLanguageModel(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  PredictedSpans spans_;
  TokenRows rows_;
  TextFrame frame_;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks_;  // [begin, end) in rows_.ids()
};

}  // namespace attend
