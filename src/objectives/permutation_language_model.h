// Permutation language modelling (XLNet; Yang et al. 2019, arXiv:1906.08237, sections 2.2 and 2.3): the order
// of a text is random, and its last tokens are predicted, each from those before it in that order.
//
// The predicted tokens are chosen as by transformers' DataCollatorForPermutationLanguageModeling, in spans
// with unpredicted text around them. Differences:
// - the order is that of the whole text, of any length: no half of it becomes a memory;
// - a later token sees the content of an earlier one, as in the paper; the collator writes a mask there;
// - special tokens see no predicted token. In the collator they do, and since all tokens see them, they leak
//   it.
#pragma once

#include "data/token_rows.h"
#include "nn/attention/two_streams.h"
#include "objectives/base/objective.h"
#include "objectives/shared/text_frame.h"

namespace attend {

struct PredictedSpans {
  double rate = 1.0 / 6;     // share of the tokens, on average
  std::int64_t longest = 5;  // spans have 1 to this many tokens, uniformly
};

// Which tokens of a text are predicted, in order: one span after another, each anywhere in a piece of the
// text that is span / rate tokens long.
std::vector<std::int64_t> draw_predicted(std::int64_t length, const PredictedSpans& spans, Random& random);

// A text of these ids, with types or without, and its labels: at least one token is predicted if there are
// two, and never all of them. `special`: ids that are not predicted.
PermutedText permute(const EncodedText& text, const std::vector<bool>& special, const PredictedSpans& spans,
                     Random& random);

class PermutationLanguageModel : public Objective {
 public:
  // Joins adjacent sentences of one document until the next does not fit.
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
