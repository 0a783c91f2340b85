// Causal language modelling (Radford et al. 2018): every token is predicted from the previous ones in a block
// of running text. Each epoch cuts the text at other positions. Models with memories (Dai et al. 2019,
// arXiv:1901.02860) read it in order.
#pragma once

#include "data/token_rows.h"
#include "objectives/base/objective.h"
#include "objectives/shared/meters.h"

namespace attend {

class CausalLanguageModel : public Objective {
 public:
  // Blocks of `length` tokens. `remembers`: each is read after the previous one, whose states it sees.
  // `expert_balance`: the factor of a second term that balances the load of experts; 0: no such term. Throws
  // Error if the text is shorter than one block.
  CausalLanguageModel(TokenRows text, std::int64_t length, bool remembers = false, double expert_balance = 0);

  std::vector<Term> terms() const override;
  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override;
  std::int64_t examples() const override;
  std::int64_t tokens(std::int64_t) const override { return length_; }
  std::vector<std::vector<std::int64_t>> batches(const BatchSize& size, std::uint64_t seed,
                                                 std::int64_t epoch, bool shuffled) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override { return perplexity_meter(); }
  Sharing sharing() const override { return remembers_ ? Sharing::nothing : Sharing::examples; }

 private:
  TokenRows text_;
  std::int64_t length_, first_ = 0;
  bool remembers_;
  double expert_balance_;
};

}  // namespace attend
