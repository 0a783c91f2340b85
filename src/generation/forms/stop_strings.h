// Texts that end because of what they say.
#pragma once

#include <attend/tokenizer.h>

#include <span>
#include <string>
#include <vector>

namespace attend {

class StopStrings {
 public:
  StopStrings() = default;  // none
  // The tokenizer stays the caller's. Error for an empty string, or if there is no tokenizer.
  StopStrings(std::vector<std::string> strings, const Tokenizer* tokenizer);

  bool empty() const { return strings_.empty(); }
  // Does the last token complete one of the strings? The string may begin anywhere, in the prompt too, and
  // the token may go on behind it.
  bool completed_by(std::span<const std::int64_t> tokens) const;

 private:
  std::vector<std::string> strings_;
  std::size_t longest_ = 0;  // in bytes
  const Tokenizer* tokenizer_ = nullptr;
};

}  // namespace attend
