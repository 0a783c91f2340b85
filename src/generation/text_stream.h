// Streaming text: tokens in, whole characters out.
#pragma once

#include <attend/tokenizer.h>

#include <string>
#include <vector>

namespace attend {

// Does decoding leave it out, as a special token?
bool is_special(const Tokenizer& tokenizer, TokenId token);

// A token can hold half a character, and a later one can change how those before it are written, so every
// time all tokens are decoded, and what is new and certain is handed out.
class TextStream {
 public:
  // The text goes on behind `prompt`, whole characters that are not handed out themselves. `shown`: special
  // tokens that belong to the text; others are left out.
  explicit TextStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt = {},
                      std::vector<TokenId> shown = {});

  void add(TokenId token);
  std::string put(TokenId token);  // adds it, and gives what can be written now; may be empty
  std::string finish();            // the rest, with U+FFFD for a character that never became whole

 private:
  std::string decode() const { return tokenizer_->decode(ids_, shown_.empty()); }
  std::string rest(const std::string& text);

  const Tokenizer* tokenizer_;
  std::vector<TokenId> shown_;
  std::vector<TokenId> ids_;  // with `shown`, without the special tokens that are left out
  std::string given_;         // of the decoded text
};

}  // namespace attend
