// What a model is trained to do: turns examples into inputs, labels and a loss.
#pragma once

#include <attend/tokenizer.h>

#include "nn/transformer.h"

namespace attend {

// A data set together with the loss on it. Examples are numbered; what a number stands for may change from
// epoch to epoch, but follows from the seed and the epoch alone, so that a run can be resumed exactly.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual void begin_epoch(std::uint64_t seed, std::int64_t epoch) {}
  virtual std::int64_t examples() const = 0;
  // How much of a batch the example takes: batches are filled by tokens.
  virtual std::int64_t tokens(std::int64_t example) const = 0;
  virtual LossSum loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
                       const LossOptions& options) const = 0;
};

using TokenIds = std::vector<std::int64_t>;

// Sequence to sequence (Sutskever et al. 2014; Vaswani et al. 2017): the decoder reads the target shifted by
// one, beginning with the start token, and predicts it.
class SequenceToSequence : public Objective {
 public:
  // Line n of `targets` belongs to line n of `sources`; Error if the numbers of lines differ. Pairs with an
  // empty side, or one longer than `max_length` tokens, are left out with a warning. With `bpe_dropout` the
  // words of every epoch are cut anew (Provilkov et al. 2020, arXiv:1910.13267).
  SequenceToSequence(TokenizerPair tokenizers, std::span<const std::string> sources,
                     std::span<const std::string> targets, std::int64_t start_token, std::int64_t max_length,
                     double bpe_dropout = 0);

  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override;
  std::int64_t examples() const override { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  LossSum loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
               const LossOptions& options) const override;

 private:
  TokenizerPair tokenizers_;
  double bpe_dropout_;
  std::vector<std::string> source_texts_, target_texts_;  // for bpe_dropout_
  std::vector<TokenIds> sources_, targets_;
  std::int64_t start_token_, max_length_;
};

// Causal language modelling (Radford et al. 2018): every token is predicted from those before it in a block
// of `length` tokens of running text. Each epoch cuts the text at other places.
class CausalLanguageModel : public Objective {
 public:
  // Error if the text is shorter than one block.
  CausalLanguageModel(const Tokenizer& tokenizer, const std::vector<std::string>& files, std::int64_t length);

  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override;
  std::int64_t examples() const override;
  std::int64_t tokens(std::int64_t) const override { return length_; }
  LossSum loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
               const LossOptions& options) const override;

 private:
  TokenIds text_;
  std::int64_t length_, first_ = 0;
};

}  // namespace attend
