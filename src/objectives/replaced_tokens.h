// Replaced token detection (Clark et al. 2020, "ELECTRA", arXiv:2003.10555): a small generator predicts
// hidden tokens, what it draws from its predictions takes their places, and the model says of every token
// whether it has been replaced. Both learn at once; no gradient flows through what is drawn.
//
// As google-research/electra has it: of the tokens that are predicted 85 % become the mask and the others
// stay (the paper's text: all), a drawn token that is the right one counts as not replaced, and special
// tokens are asked about too.
#pragma once

#include "objectives/masked_language_model.h"

namespace attend {

class ReplacedTokens : public MaskedLanguageModel {
 public:
  explicit ReplacedTokens(const Setting& setting);

  std::vector<Term> terms() const override { return {{"masked words"}, {"replaced tokens", weight_}}; }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  // The generator is the trainee's model of that name.
  // Neither network alone tells how good both are: the loss does.
  std::unique_ptr<Meter> meter() const override { return nullptr; }
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  double weight_;
};

// For each row a token by its probability in softmax(scores [n, V]): [n] int64, on the host. The token of row
// n follows from the scores of the row, `seed` and `first` + n alone.
Tensor draw_tokens(const Tensor& scores, std::uint64_t seed, std::int64_t first = 0);

// A batch whose hidden tokens are replaced by others, and which of them differ from what stood there.
struct Replaced {
  TokenBatch tokens;
  Tensor labels;  // [T] float: 1 where a token differs
};
// `drawn` [n] for the n places with a label, in order.
Replaced replace_tokens(const Batch& batch, const Tensor& drawn);

}  // namespace attend
