// Replaced token detection (Clark et al. 2020, "ELECTRA", arXiv:2003.10555): a small generator predicts
// masked tokens, samples from its predictions replace them, and the model classifies every token as replaced
// or not. Both train together; no gradient flows through the sampling.
//
// As in google-research/electra: 85 % of the predicted tokens become the mask and the others stay (the
// paper's text: all), a sampled token that equals the original counts as not replaced, and special tokens are
// classified too.
#pragma once

#include "objectives/masked_language_model.h"

namespace attend {

class ReplacedTokens : public MaskedLanguageModel {
 public:
  explicit ReplacedTokens(const Setting& setting);

  std::vector<Term> terms() const override { return {{"masked words"}, {"replaced tokens", weight_}}; }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  // The generator is the trainee's model of that name. Neither network's metric alone shows the quality of
  // both; the loss does.
  std::unique_ptr<Meter> meter() const override { return nullptr; }
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  double weight_;
};

// For each row a token by its probability in softmax(scores [n, V]): [n] int64, on the host. The token of row
// n follows from the scores of the row, `seed` and `first` + n alone.
Tensor draw_tokens(const Tensor& scores, std::uint64_t seed, std::int64_t first = 0);

// A batch whose masked tokens are replaced by others, and which of them differ from the original.
struct Replaced {
  TokenBatch tokens;
  Tensor labels;  // [T] float: 1 where a token differs
};
// `drawn` [n] for the n places with a label, in order.
Replaced replace_tokens(const Batch& batch, const Tensor& drawn);

}  // namespace attend
