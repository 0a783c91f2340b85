// Which tokens of a text are masked, and their replacement (Devlin et al. 2018, arXiv:1810.04805, section
// 3.1): of the predicted tokens, four fifths become the mask, a tenth a random token, a tenth are unchanged.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/base/registry.h"

namespace attend {

struct MaskOptions {
  double rate = 0.15;        // share of the tokens that are predicted
  bool whole_words = false;  // a word is masked with all its pieces or not at all
  // Max words in a row; n of them with a probability proportional to 1 / n (Lan et al. 2019,
  // arXiv:1909.11942, section 3.1). Then words are always masked whole.
  std::int64_t ngram = 1;
  double masked = 0.8, random = 0.1;  // replacement of the predicted tokens; the rest stay
};

class Masking {
 public:
  // Error if the tokenizer has no mask token (by tokenizer_config.json, else the usual names).
  Masking(const Setting& setting, const MaskOptions& options);

  // Masks tokens of `ids` and returns the label of each position: the original token, or kIgnoredLabel.
  // Special tokens stay. Single tokens are drawn independently with the rate's probability; words until the
  // rate is reached.
  TokenIds hide(TokenIds& ids, Random& random) const;

  std::int64_t mask_id() const { return mask_; }

 private:
  void replace(TokenIds& ids, TokenIds& labels, std::size_t place, Random& random) const;
  std::vector<std::pair<std::size_t, std::size_t>> words(const TokenIds& ids) const;  // [begin, end)

  MaskOptions options_;
  std::int64_t mask_ = 0, vocabulary_ = 0;
  std::vector<bool> special_, continues_;  // by id: whether it is special, whether it continues a word
};

// The id of the mask token. Throws Error if there is none.
std::int64_t find_mask_token(const ModelDirectory& directory, const Tokenizer& tokenizer);

}  // namespace attend
