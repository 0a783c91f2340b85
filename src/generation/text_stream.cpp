#include "generation/text_stream.h"

#include <algorithm>

namespace attend {

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt)
    : tokenizer_(&tokenizer), ids_(std::move(prompt)) {
  if (!ids_.empty()) given_ = decode();
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
