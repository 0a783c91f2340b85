// Streaming text: tokens in, whole characters out.
#pragma once

#include <attend/tokenizer.h>

#include <string>
#include <vector>

namespace attend {

// A token can hold half a character, and a later one can change how those before it are written, so every
// time all tokens are decoded, and what is new and certain is handed out.
class TextStream {
 public:
  // The text goes on behind `prompt`, whole characters that are not handed out themselves.
  explicit TextStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt = {});

  void add(TokenId token) { ids_.push_back(token); }
  std::string put(TokenId token);  // adds it, and gives what can be written now; may be empty
  std::string finish();            // the rest, with U+FFFD for a character that never became whole

 private:
  std::string decode() const { return tokenizer_->decode(ids_, true); }
  std::string rest(const std::string& text);

  const Tokenizer* tokenizer_;
  std::vector<TokenId> ids_;
  std::string given_;  // of the decoded text
};

}  // namespace attend
