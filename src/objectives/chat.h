// Conversations: each token of the assistant's words is predicted from the tokens before it, and all other
// tokens are only read. Conversations of a batch do not see each other (nn/pass/ragged.h), so a batch may
// hold several short ones.
#pragma once

#include "objectives/next_tokens.h"
#include "objectives/shared/meters.h"
#include "objectives/shared/taught_text.h"

namespace attend {

class Chat : public Objective {
 public:
  // Reads conversations (data/conversations.h). A conversation that has no tokens to learn after truncation
  // is left out, with a warning.
  explicit Chat(const Setting& setting);

  std::vector<Term> terms() const override { return next_token_terms(expert_balance_); }
  std::int64_t examples() const override { return std::ssize(texts_); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override { return perplexity_meter(); }

 private:
  std::vector<TaughtTokens> texts_;
  double expert_balance_;
};

}  // namespace attend
