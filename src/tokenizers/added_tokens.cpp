#include "tokenizers/added_tokens.h"

#include "base/error.h"
#include "base/log.h"

#include <algorithm>
#include <utility>

namespace attend::tokenizers {
namespace {

bool is_word_at_end(std::string_view text) {
  return !text.empty() && unicode::is(unicode::last(text).value, unicode::word);
}
bool is_word_at_begin(std::string_view text) {
  return !text.empty() && unicode::is(unicode::decode(text.data()).value, unicode::word);
}
// Where the white space at the end of `text` begins.
std::size_t begin_of_last_space(std::string_view text) {
  while (!text.empty()) {
    const char32_t c = unicode::last(text).value;
    if (!unicode::is(c, unicode::whitespace)) break;
    text.remove_suffix(unicode::encoded_size(c));
  }
  return text.size();
}
// Where the white space that begins at `at` ends.
std::size_t end_of_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto [c, size] = unicode::decode(text.data() + at);
    if (!unicode::is(c, unicode::whitespace)) break;
    at += size;
  }
  return at;
}

// The language code, such as ">>fr<<", at the start of the text; empty: none.
std::string_view leading_language_code(std::string_view text) {
  const std::size_t end = text.starts_with(">>") ? text.find("<<") : text.npos;
  return end == text.npos ? std::string_view() : text.substr(0, end + 2);
}

}  // namespace

AddedTokens::Matcher::Matcher(const std::vector<std::pair<std::string, TokenId>>& tokens) {
  std::vector<Trie::Entry> entries;
  for (const auto& [text, id] : tokens) {
    if (text.empty()) continue;  // empty after normalization: nothing to find
    entries.push_back({text, id});
    if (!std::exchange(begins[static_cast<unsigned char>(text[0])], true)) beginnings += text[0];
  }
  trie = Trie(std::move(entries));
}

std::size_t AddedTokens::Matcher::next(std::string_view text, std::size_t at) const {
  if (beginnings.empty()) return text.size();
  if (beginnings.size() == 1) return std::min(text.find(beginnings[0], at), text.size());
  while (at < text.size() && !begins[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void AddedTokens::read(const Json& list, const Model& model, const Normalizer* normalizer,
                       const std::string& source, bool slow) {
  slow_ = slow;
  if (list.is_null()) return;
  if (!list.is_array()) fail("{}: added_tokens is not a list", source);
  auto next = static_cast<TokenId>(model.vocabulary().size());
  std::vector<std::pair<AddedToken, TokenId>> tokens;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Fields read(list[i], source + ".added_tokens[" + std::to_string(i) + "]");
    AddedToken token;
    token.content = read.text({"content"});
    if (token.content.empty()) continue;
    token.special = read.flag({"special"}, false);
    token.single_word = read.flag({"single_word"}, false);
    token.left_strip = read.flag({"lstrip"}, false);
    token.right_strip = read.flag({"rstrip"}, false);
    token.normalized = read.flag({"normalized"}, !token.special);
    const TokenId known = model.vocabulary().find(token.content);
    TokenId id = find(token.content);
    if (id < 0) id = known;
    const std::int64_t told = read.integer({"id"}, {}, 0, std::int64_t{1} << 32);
    if (slow) id = static_cast<TokenId>(std::min<std::int64_t>(told, Vocabulary::max_id));
    if (id < 0) id = next++;
    if (id > Vocabulary::max_id) fail("{}: more than {} tokens", read.source(), Vocabulary::max_id);
    if (slow && known >= 0 && known != id) renumbered_[known] = id;
    if (told != id)
      warn("{}: the added token '{}' has id {} in the file, but it gets {}, as in tokenizers", source,
           token.content, told, id);
    if (token.special) special_.emplace(token.content, true);
    ids_[token.content] = id;
    by_id_[id] = token;
    tokens.emplace_back(std::move(token), id);
  }
  // If two tokens have the same text, the special one counts, then the earlier one.
  std::vector<std::pair<std::string, TokenId>> raw, normalized;
  for (const bool special : {true, false}) {
    for (const auto& [token, id] : tokens) {
      if (is_special(token.content) != special) continue;
      if (!token.normalized) {
        raw.emplace_back(token.content, id);
        continue;
      }
      NormalizedText text(token.content, {}, false);
      if (normalizer != nullptr) normalizer->apply(text);
      normalized.emplace_back(text.text(), id);
    }
  }
  raw_ = Matcher(raw);
  normalized_ = Matcher(normalized);
}

void AddedTokens::take_language_codes(const Vocabulary& vocabulary, TokenId unknown) {
  language_codes_ = &vocabulary;
  unknown_language_code_ = unknown;
}

TokenId AddedTokens::renumbered(TokenId id) const {
  const auto found = renumbered_.find(id);
  return found == renumbered_.end() ? id : found->second;
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

TokenId AddedTokens::find(std::string_view content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? -1 : found->second;
}

std::size_t AddedTokens::count_outside(const Vocabulary& vocabulary) const {
  std::size_t count = 0;
  for (const auto& [content, id] : ids_) count += vocabulary.find(content) < 0 ? 1 : 0;
  return count;
}

// The longest match at the leftmost position from `at` on; at the end of the text: none.
AddedTokens::Match AddedTokens::next_match(std::string_view text, const Matcher& matcher,
                                           std::size_t at) const {
  for (; (at = matcher.next(text, at)) < text.size(); ++at) {
    Match match{at, at, -1};
    matcher.trie.find_prefixes(text.substr(at), [&](std::size_t length, TokenId found) {
      match.end = at + length;
      match.id = found;
    });
    if (match.id >= 0) return match;
  }
  return {text.size(), text.size(), -1};
}

template <class Emit>
void AddedTokens::find_matches(std::string_view text, const Matcher& matcher, Emit emit) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto [begin, end, id] = next_match(text, matcher, at);
    at = end;  // a rejected match still hides matches inside it
    if (id < 0) break;
    const AddedToken& token = *find(id);
    if (token.single_word && (is_word_at_end(text.substr(0, begin)) || is_word_at_begin(text.substr(end))))
      continue;
    if (token.left_strip) begin = std::max(begin_of_last_space(text.substr(0, begin)), done);
    if (token.right_strip) end = end_of_space(text, end);
    if (done < begin) emit(done, begin, TokenId{-1});
    emit(begin, end, id);
    done = end;
  }
  if (done < text.size()) emit(done, text.size(), TokenId{-1});
}

// Like transformers' slow tokenizers: the text is cut at every match; then a single word without a space next
// to it is joined to its neighbour, a text or a token, which is then no longer a token.
template <class Emit>
void AddedTokens::find_matches_slowly(std::string_view text, const Matcher& matcher, Emit emit) const {
  std::vector<Match> parts;
  for (std::size_t at = 0; at < text.size(); at = parts.back().end) {
    const Match match = next_match(text, matcher, at);
    if (at < match.begin) parts.push_back({at, match.begin, -1});
    if (match.id >= 0) parts.push_back(match);
  }
  const auto view = [&](const Match& part) { return text.substr(part.begin, part.end - part.begin); };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Match& part = parts[i];
    part.id = find(view(part));
    if (part.id < 0) continue;
    const AddedToken& token = *find(part.id);
    Match* const left = i > 0 && parts[i - 1].begin < parts[i - 1].end ? &parts[i - 1] : nullptr;
    Match* const right = i + 1 < parts.size() ? &parts[i + 1] : nullptr;
    const bool joins_left = token.single_word && left != nullptr && text[left->end - 1] != ' ',
               joins_right = token.single_word && right != nullptr && text[right->begin] != ' ';
    if (token.right_strip && right != nullptr)
      right->begin = std::min(end_of_space(text, part.end), right->end);
    if (token.left_strip && left != nullptr)
      left->end = std::max(begin_of_last_space(text.substr(0, left->end)), left->begin);
    if (joins_left) left->end = part.end;
    if (joins_left || joins_right) part.end = part.begin;
    if (!joins_left && joins_right) right->begin = part.begin;
  }
  for (const Match& part : parts)
    if (part.begin < part.end) emit(part.begin, part.end, find(view(part)));
}

void AddedTokens::split(std::string_view text, const Normalizer* normalizer, Pieces& pieces) const {
  const auto part = [&](std::size_t begin, std::size_t end) {
    return NormalizedText(text.substr(begin, end - begin),
                          TextSpan{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)},
                          pieces.aligned);
  };
  const auto emit = [&](std::size_t begin, std::size_t end, TokenId id) {
    if (begin >= end) return;
    if (id >= 0) {
      pieces.append(part(begin, end), id);
      return;
    }
    if (language_codes_ != nullptr) {
      const std::string_view code = leading_language_code(text.substr(begin, end - begin));
      const TokenId found = language_codes_->find(code);
      if (!code.empty())
        pieces.append(part(begin, begin + code.size()), found < 0 ? unknown_language_code_ : found);
      begin += code.size();
    }
    if (begin < end) split_normalized(part(begin, end), normalizer, pieces);
  };
  if (lowercase_)
    split_lowercase(text, normalizer, pieces);
  else if (slow_)
    find_matches_slowly(text, raw_, emit);
  else
    find_matches(text, raw_, emit);
}

void AddedTokens::split_normalized(NormalizedText text, const Normalizer* normalizer, Pieces& pieces) const {
  if (normalizer != nullptr) normalizer->apply(text);
  if (text.text().empty()) return;
  const auto offset = static_cast<std::uint32_t>(pieces.text.size());
  pieces.append(text);
  const Piece whole = pieces.pieces.back();
  pieces.pieces.pop_back();
  find_matches(text.text(), normalized_, [&](std::size_t begin, std::size_t end, TokenId id) {
    if (begin >= end) return;
    Piece piece = pieces.cut(whole, offset + static_cast<std::uint32_t>(begin),
                             offset + static_cast<std::uint32_t>(end));
    piece.token = id;
    pieces.pieces.push_back(piece);
  });
}

void AddedTokens::split_lowercase(std::string_view text, const Normalizer* normalizer, Pieces& pieces) const {
  Pieces small;
  small.clear(pieces.aligned);
  find_matches(text, raw_, [&](std::size_t begin, std::size_t end, TokenId id) {
    if (begin >= end) return;
    NormalizedText part(text.substr(begin, end - begin),
                        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, pieces.aligned);
    if (id < 0) lowercase_->apply(part);
    small.append(part);
  });
  find_matches_slowly(small.text, raw_, [&](std::size_t begin, std::size_t end, TokenId id) {
    if (begin >= end) return;
    const TextSpan place{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    NormalizedText part = small.extract(small.cut({0, 0, place, -1}, place.begin, place.end));
    if (id >= 0)
      pieces.append(part, id);
    else
      split_normalized(std::move(part), normalizer, pieces);
  });
}

Json AddedTokens::to_json() const {
  Json list = Json::array();
  for (const auto& [id, token] : by_id_)
    list.push_back({{"id", id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.left_strip},
                    {"rstrip", token.right_strip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  return list;
}

}  // namespace attend::tokenizers
