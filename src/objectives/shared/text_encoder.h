// Whole texts, or pairs of texts, as model inputs: with special tokens and token types, truncated if too
// long.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/base/batch.h"
#include "objectives/base/registry.h"

namespace attend {

struct EncodedText {
  TokenIds ids, types;  // `types` is empty if the model takes none
};

class TextEncoder {
 public:
  // Texts of more than `longest` tokens are truncated; absent: longest_text().
  explicit TextEncoder(const Setting& setting, std::optional<std::int64_t> longest = {});

  void lower_case() { tokenizer_.lower_case(); }

  // `pairs` is empty, or has the size of `texts`, with an empty string for a text without a second one. Logs
  // how many texts were truncated. Uses all cores.
  std::vector<EncodedText> encode(const std::vector<std::string>& texts,
                                  const std::vector<std::string>& pairs = {}) const;
  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool with_types() const { return with_types_; }

 private:
  Tokenizer tokenizer_;
  bool with_types_;
  std::int64_t longest_;
};

// For whole texts, which are stored elsewhere or made for this batch.
TokenBatch make_batch(std::span<const EncodedText* const> texts);
TokenBatch make_batch(std::span<const EncodedText> texts);

}  // namespace attend
