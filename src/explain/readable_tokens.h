// Tokens as readable text, independent of how a tokenizer writes bytes and spaces.
#pragma once

#include <attend/tokenizer.h>

#include "explain/explanation.h"

#include <span>

namespace attend {

class ReadableTokens {
 public:
  explicit ReadableTokens(const Tokenizer& tokenizer);

  // A character whose bytes are spread over several tokens is shown in each of them. `encoding`: words and
  // segments if known, or null.
  std::vector<ExplainedToken> read(std::span<const std::int64_t> ids,
                                   const Encoding* encoding = nullptr) const;
  // A token alone, in valid UTF-8.
  std::string text(std::int64_t id) const;

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::string> texts_;  // bytes, by id; empty for special tokens
};

}  // namespace attend
