// Translation language modelling (Lample & Conneau 2019, "XLM", arXiv:1901.07291, section 3.4): a sentence
// and its translation together, with masked tokens in both, so that one language helps to predict the other.
//
// A model that knows the language of a token (XLM) gets it, and the positions of the second sentence start at
// 0 again, with special tokens around each sentence, as in the paper. Others read a pair of texts.
#pragma once

#include "objectives/shared/masking.h"
#include "objectives/shared/text_frame.h"

namespace attend {

class TranslationLanguageModel : public Objective {
 public:
  // Two files: line n of one belongs to line n of the other. Pairs with an empty side, or with too many
  // tokens together, are left out with a warning.
  explicit TranslationLanguageModel(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(pairs_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  struct Pair {
    std::vector<TokenId> first, second;
  };
  // Both with their special tokens; `first_length`: tokens with the positions of the first sentence.
  EncodedText framed(const Pair& pair, std::int64_t& first_length) const;

  TextFrame frame_;
  Masking masking_;
  std::vector<std::int64_t> languages_;  // of the two, or empty
  std::int64_t specials_;
  std::vector<Pair> pairs_;
};

}  // namespace attend
