// The reported tokens of a text with log-probabilities, in the formats of OpenAI's API.
#pragma once

#include <attend/tasks.h>

#include "formats/json/json.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::serve {

// The names of a model's tokens.
class TokenNames {
 public:
  explicit TokenNames(std::shared_ptr<const Tokenizer> tokenizer);

  // The bytes that a token adds to a text. At the beginning of a text it may add fewer. Special tokens add
  // none.
  std::string bytes(TokenId id, bool begins_text) const;
  // The same as a name: "bytes:\xf0\x9f" for a part of a character, "</s>" for a special token.
  std::string name(TokenId id, bool begins_text) const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> texts_;  // by id
};

struct ReportedToken {
  TokenId id = 0;
  std::optional<float> log_probability = {};  // absent: it is not predicted
  std::vector<TokenScore> likeliest = {};
};

// Reports the tokens of one text, as they are generated.
class TokenReport {
 public:
  // The caller owns `names`. `begins_text`: the first token has no text before it.
  TokenReport(const TokenNames& names, bool is_chat, bool begins_text)
      : names_(names), is_chat_(is_chat), begins_text_(begins_text) {}

  void put(const ReportedToken& token);
  std::size_t tokens() const { return tokens_; }  // number of tokens that were put
  // The report of the tokens since the last call; null: there are none.
  Json take();

 private:
  Json chat_entry(TokenId id, float log_probability, bool begins) const;
  void put_completion(const ReportedToken& token, bool begins);

  const TokenNames& names_;
  bool is_chat_, begins_text_;
  std::size_t tokens_ = 0;
  std::size_t characters_ = 0;  // of the text so far
  Json pending_;
};

}  // namespace attend::serve
