// Two texts and a vector for each: shared by objectives that compare vectors (Reimers & Gurevych 2019,
// "Sentence-BERT", arXiv:1908.10084). The result is a sentence-transformers directory.
#pragma once

#include "data/labeled_texts.h"
#include "objectives/shared/text_encoder.h"
#include "sources/model_directory.h"

namespace attend {

class TextVectors {
 public:
  // Pools as modules.json of the model's directory says, else by the mean. Throws Error if the model is not a
  // text encoder, and for widths (Recipe::matryoshka) that its vectors do not have.
  TextVectors(const Setting& setting, const std::vector<TextPair>& pairs);

  std::int64_t count() const { return static_cast<std::int64_t>(firsts_.size()); }  // of pairs
  std::int64_t tokens(std::int64_t pair) const;                                     // of its longer text
  // The indices of a pair's texts: equal texts have the same index.
  std::pair<std::int64_t, std::int64_t> numbers(std::int64_t pair) const;

  TokenBatch batch(
      std::span<const std::int64_t> pairs) const;  // 2B texts: all first ones, then all second ones
  // The vectors of such a batch: [B, d] each.
  std::pair<Tensor, Tensor> operator()(Trainee& trainee, const TokenBatch& batch, Pass& pass) const;

  // The widths at which a vector's first numbers must work alone; the full width comes first.
  const std::vector<std::int64_t>& widths() const { return widths_; }
  // A term for each width, all of weight 1 (Kusupati et al. 2022, "Matryoshka representation learning",
  // arXiv:2205.13147).
  std::vector<Term> terms() const;

 private:
  SentencePooling pooling_;
  std::vector<std::int64_t> widths_;
  std::vector<EncodedText> texts_;  // each once
  std::vector<std::size_t> firsts_, seconds_;
};

// The metrics for vectors of several widths: those of whole vectors by their names, the others with the
// suffix "_WIDTH".
std::vector<Score> by_width(const std::vector<std::int64_t>& widths,
                            const std::vector<std::vector<Score>>& scores);

// ObjectiveKind::accompany: writes modules.json and its files, if the model's directory has none.
void write_pooling(const Setting& setting, const std::filesystem::path& output);

}  // namespace attend
