// Sequence to sequence (Sutskever et al. 2014, arXiv:1409.3215; Vaswani et al. 2017, arXiv:1706.03762): the
// decoder reads the target shifted by one, beginning with the start token, and predicts it.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/base/objective.h"

namespace attend {

class SequenceToSequence : public Objective {
 public:
  // Line n of `targets` belongs to line n of `sources`; throws Error if the numbers of lines differ. Pairs
  // with an empty side, or with one longer than `max_length` tokens, are skipped with a warning. With
  // `bpe_dropout` words are split differently in every epoch (Provilkov et al. 2020, arXiv:1910.13267).
  SequenceToSequence(TokenizerPair tokenizers, std::span<const std::string> sources,
                     std::span<const std::string> targets, std::int64_t start_token, std::int64_t max_length,
                     double bpe_dropout = 0);

  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override;
  std::int64_t examples() const override { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  TokenizerPair tokenizers_;
  double bpe_dropout_;
  std::vector<std::string> source_texts_, target_texts_;  // for bpe_dropout_
  std::vector<TokenIds> sources_, targets_;
  std::int64_t start_token_, max_length_;
};

// A batch of sources and their targets after `start_token`.
Batch make_pairs(const std::vector<TokenIds>& sources, const std::vector<TokenIds>& targets,
                 std::int64_t start_token);
// The loss of predicting batch.token_labels from batch.tokens through both stacks.
Losses pair_losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options);

}  // namespace attend
