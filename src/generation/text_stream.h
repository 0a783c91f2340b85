// Streaming text: tokens in, whole characters out.
#pragma once

#include <attend/tokenizer.h>

#include <string>
#include <vector>

namespace attend {

// Whether decoding leaves it out, as a special token.
bool is_special(const Tokenizer& tokenizer, TokenId token);

// A token can hold half a character, and a later token can change how earlier ones are written. So every call
// decodes all tokens and returns the part that is new and certain.
class TextStream {
 public:
  // The text continues after `prompt`, whole characters that are not returned. `shown`: special tokens that
  // belong to the text; others are left out.
  explicit TextStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt = {},
                      std::vector<TokenId> shown = {});

  void add(TokenId token);
  std::string put(TokenId token);  // adds the token and returns the text that is now certain; may be empty
  std::string finish();            // the rest, with U+FFFD for a character that never became whole

 private:
  std::string decode() const { return tokenizer_->decode(ids_, shown_.empty()); }
  std::string rest(const std::string& text);

  const Tokenizer* tokenizer_;
  std::vector<TokenId> shown_;
  std::vector<TokenId> ids_;  // with `shown`, without the special tokens that are left out
  std::string given_;         // the returned part of the decoded text
};

}  // namespace attend
