// Denoising (BART; Lewis et al. 2019, arXiv:1910.13461, section 2.2): a text is corrupted in one or several
// ways, and the decoder writes the original text.
#pragma once

#include "data/token_rows.h"
#include "objectives/base/objective.h"
#include "objectives/shared/text_frame.h"

namespace attend {

// In the order in which they are applied. Shares are fractions of the texts, rates are fractions of a text's
// tokens.
struct NoiseOptions {
  double permute_share = 0;  // sentences in another order
  double delete_rate = 0;    // removed without a mask
  double mask_rate = 0.3;    // replaced by a mask
  bool mask_spans = true;    // true: one mask per span; false: one per token
  double mean_span = 3;
  double rotate_share = 0;  // begin at another token
};

class Denoising : public Objective {
 public:
  // Joins adjacent sentences of one document until the next does not fit. Throws Error if the tokenizer has
  // no mask token.
  explicit Denoising(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  // The sentences, whole or in part, of ids [begin, end).
  std::vector<std::span<const TokenId>> sentences(std::int64_t begin, std::int64_t end) const;

  NoiseOptions options_;
  TokenRows rows_;
  TextFrame frame_;
  TokenId mask_;
  std::int64_t longest_;                                       // text, without special tokens
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks_;  // [begin, end) in rows_.ids()
  std::int64_t start_token_;
};

}  // namespace attend
