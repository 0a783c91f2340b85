#include "generation/forms/stop_strings.h"

#include "base/error.h"

#include <algorithm>

namespace attend {

StopStrings::StopStrings(std::vector<std::string> strings, const Tokenizer* tokenizer, Scope scope)
    : strings_(std::move(strings)), tokenizer_(tokenizer), scope_(scope) {
  if (strings_.empty()) return;
  if (!tokenizer_)
    fail("stop_strings: they need the model's tokenizer, and none was given; end texts with eos_token_id");
  for (const std::string& string : strings_) {
    if (string.empty()) fail("stop_strings: expected texts, found an empty one, which ends everything");
    longest_ = std::max(longest_, string.size());
  }
}

bool StopStrings::completed_by(std::span<const std::int64_t> tokens, std::int64_t new_tokens) const {
  if (strings_.empty() || tokens.empty()) return false;
  // A token is at least one byte, so a string spans at most longest_ tokens. One more token is included,
  // because some decoders write the first token of a text without its space.
  const auto tail = tokens.last(std::min(tokens.size(), longest_ + 1));
  const std::vector<TokenId> ids(tail.begin(), tail.end());
  const std::string text = tokenizer_->decode(ids);
  // The length of the text without the last `count` tokens: the common prefix of both.
  const auto known_without = [&](std::size_t count) {
    const std::string before = tokenizer_->decode(std::span(ids).first(ids.size() - count));
    return static_cast<std::size_t>(std::ranges::mismatch(text, before).in1 - text.begin());
  };
  const auto made = static_cast<std::size_t>(new_tokens);
  const std::size_t known = known_without(1),
                    first = scope_ == Scope::new_text && made < ids.size() ? known_without(made) : 0;
  return std::ranges::any_of(strings_, [&](const std::string& string) {
    const std::size_t from = known < string.size() ? 0 : known - string.size() + 1;
    return text.find(string, std::max(from, first)) != text.npos;
  });
}

}  // namespace attend
