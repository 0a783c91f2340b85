#include "explain/readable_tokens.h"

#include "base/utf8.h"

#include <fmt/format.h>

namespace attend {
namespace {

bool is_whole(std::string_view bytes) {
  return !find_invalid_utf8(bytes);
}

// Bytes that are not a whole character, as their values.
std::string readable(std::string_view bytes) {
  if (is_whole(bytes)) return std::string(bytes);
  std::string text = "‹bytes";
  for (const char byte : bytes) text += fmt::format(" {:02X}", static_cast<unsigned char>(byte));
  return text + "›";
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// A character has at most 4 bytes, so at most 4 tokens share one.
constexpr std::size_t kMaxParts = 8;

}  // namespace

ReadableTokens::ReadableTokens(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), texts_(tokenizer.token_texts()) {}

std::string ReadableTokens::text(std::int64_t id) const {
  const auto place = static_cast<std::size_t>(id);
  if (id >= 0 && place < texts_.size() && !texts_[place].empty()) return readable(texts_[place]);
  const auto piece = tokenizer_.id_to_token(static_cast<TokenId>(id));
  return piece ? repair_utf8(*piece) : fmt::format("[{}]", id);
}

std::vector<ExplainedToken> ReadableTokens::read(std::span<const std::int64_t> ids,
                                                 const Encoding* encoding) const {
  std::vector<ExplainedToken> tokens;
  int segment = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ExplainedToken token{.text = text(ids[i]), .piece = {}, .id = ids[i]};
    const auto place = static_cast<std::size_t>(ids[i]);
    token.piece = repair_utf8(tokenizer_.id_to_token(static_cast<TokenId>(ids[i])).value_or(token.text));
    token.special = ids[i] < 0 || place >= texts_.size() || texts_[place].empty();
    if (encoding) {
      token.special = encoding->special_tokens_mask[i] != 0;
      if (encoding->sequence_ids[i] >= 0) segment = encoding->sequence_ids[i];
      const std::int32_t word = encoding->word_ids[i];
      token.continues = i > 0 && word >= 0 && word == encoding->word_ids[i - 1] &&
                        encoding->sequence_ids[i] == encoding->sequence_ids[i - 1] && !token.text.empty() &&
                        !is_space(token.text.front()) && !is_space(tokens.back().text.back());
    }
    token.segment = segment;
    tokens.push_back(std::move(token));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto bytes_of = [&](std::size_t at) -> std::string_view {
      const auto place = static_cast<std::size_t>(ids[at]);
      return tokens[at].special || place >= texts_.size() ? std::string_view() : texts_[place];
    };
    if (is_whole(bytes_of(i))) continue;
    std::string run(bytes_of(i));
    std::size_t end = i + 1;
    while (!is_whole(run) && end < ids.size() && end - i < kMaxParts && !bytes_of(end).empty())
      run += bytes_of(end++);
    if (!is_whole(run)) continue;  // an incomplete character
    for (std::size_t at = i; at < end; ++at) {
      tokens[at].text = run;
      tokens[at].part = static_cast<int>(at - i) + 1;
      tokens[at].parts = static_cast<int>(end - i);
    }
    i = end - 1;
  }
  return tokens;
}

}  // namespace attend
