// Stop strings: texts end where one occurs.
#pragma once

#include <attend/tokenizer.h>

#include <span>
#include <string>
#include <vector>

namespace attend {

class StopStrings {
 public:
  // Where a string may begin: also in the prompt, as in transformers, or only after it, as in OpenAI's API.
  enum class Scope { whole_text, new_text };

  StopStrings() = default;  // none
  // The caller owns the tokenizer. An Error for an empty string, or without a tokenizer.
  StopStrings(std::vector<std::string> strings, const Tokenizer* tokenizer, Scope scope = Scope::whole_text);

  bool empty() const { return strings_.empty(); }
  // Whether the last token completes one of the strings; it may continue after it. The last `new_tokens`
  // tokens are not the prompt's.
  bool completed_by(std::span<const std::int64_t> tokens, std::int64_t new_tokens) const;

 private:
  std::vector<std::string> strings_;
  std::size_t longest_ = 0;  // in bytes
  const Tokenizer* tokenizer_ = nullptr;
  Scope scope_ = Scope::whole_text;
};

}  // namespace attend
