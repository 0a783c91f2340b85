// A tag for each word: parts of speech, names (Devlin et al. 2018, arXiv:1810.04805, section 5.3), with the
// loss of transformers' ...ForTokenClassification. A word's tag belongs to its first piece; other pieces and
// special tokens have none.
#pragma once

#include "data/tagged_words.h"
#include "objectives/base/registry.h"
#include "objectives/shared/text_encoder.h"

namespace attend {

// For each token the index of the word whose first piece it is, or -1. Words are separated by one space in
// the encoded text; the space before a word may be part of its first piece.
std::vector<std::int64_t> first_pieces(const Encoding& encoding, std::span<const std::string> words);

class TokenClassification : public Objective {
 public:
  // If the setting has no labels, they are taken from the data.
  explicit TokenClassification(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(sentences_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override;
  std::optional<Labels> labels() const override { return labels_; }

 private:
  struct Sentence {
    EncodedText text;
    TokenIds labels;  // for each token: its tag's index or kIgnoredLabel
  };
  // Returns the number of words without a token: empty ones, or those after the model's maximum.
  std::size_t read(const TextEncoder& encoder, const TaggedSentence& words, Sentence& sentence) const;
  std::int64_t number_of(const TaggedSentence& sentence, std::size_t word) const;  // index of its tag

  Labels labels_;
  std::vector<Sentence> sentences_;
};

}  // namespace attend
