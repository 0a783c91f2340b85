// Stop strings: texts end where one occurs.
#pragma once

#include <attend/tokenizer.h>

#include <span>
#include <string>
#include <vector>

namespace attend {

class StopStrings {
 public:
  // Where a string may begin: also in the prompt, as transformers has it, or only after it, as OpenAI's API
  // has it.
  enum class Scope { whole_text, new_text };

  StopStrings() = default;  // none
  // The tokenizer stays the caller's. Error for an empty string, or if there is no tokenizer.
  StopStrings(std::vector<std::string> strings, const Tokenizer* tokenizer, Scope scope = Scope::whole_text);

  bool empty() const { return strings_.empty(); }
  // Does the last token complete one of the strings? The token may go on after it. The last `new_tokens`
  // tokens are not the prompt's.
  bool completed_by(std::span<const std::int64_t> tokens, std::int64_t new_tokens) const;

 private:
  std::vector<std::string> strings_;
  std::size_t longest_ = 0;  // in bytes
  const Tokenizer* tokenizer_ = nullptr;
  Scope scope_ = Scope::whole_text;
};

}  // namespace attend
