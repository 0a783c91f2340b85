#include "generation/text_stream.h"

#include <algorithm>

namespace attend {

bool is_special(const Tokenizer& tokenizer, TokenId token) {
  return tokenizer.decode({&token, 1}, true).empty() && !tokenizer.decode({&token, 1}).empty();
}

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt, std::vector<TokenId> shown)
    : tokenizer_(&tokenizer), shown_(std::move(shown)) {
  for (const TokenId id : prompt) add(id);
  if (!ids_.empty()) given_ = decode();
}

void TextStream::add(TokenId token) {
  const bool is_hidden =
      !shown_.empty() && std::ranges::find(shown_, token) == shown_.end() && is_special(*tokenizer_, token);
  if (!is_hidden) ids_.push_back(token);
}

std::string TextStream::put(TokenId token) {
  add(token);
  const std::string text = decode();
  // Decoders write U+FFFD for incomplete characters, and the last ones may become complete.
  if (text.ends_with("\uFFFD") || !text.starts_with(given_)) return {};
  return rest(text);
}

std::string TextStream::finish() {
  return rest(decode());
}

std::string TextStream::rest(const std::string& text) {
  auto [end, ignored] = std::ranges::mismatch(text, given_);
  while (end != text.begin() && end != text.end() && (*end & 0xC0) == 0x80) --end;  // whole characters
  const std::string more(end, text.end());
  given_ = text;
  return more;
}

}  // namespace attend
