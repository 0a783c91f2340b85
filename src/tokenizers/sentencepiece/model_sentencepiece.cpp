#include "tokenizers/sentencepiece/model_sentencepiece.h"

#include "base/error.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>
#include <cstdio>
#include <span>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

}  // namespace

SentencePieceBase::SentencePieceBase(const SentencePieceFile& file, PieceIds ids, Json fields,
                                     const std::string& source)
    : Model(std::move(ids.vocabulary), std::move(fields)),
      has_merges_(file.kind == SentencePieceFile::Kind::bpe),
      has_unused_(std::any_of(file.pieces.begin(), file.pieces.end(),
                              [](const auto& piece) { return piece.type == Type::unused; })),
      unknown_(ids.unknown),
      split_digit_comma_(ids.split_digit_comma),
      finds_texts_(ids.finds_texts),
      has_prefix_(file.add_dummy_prefix),
      byte_fallback_(file.byte_fallback),
      borders_(file.pieces),
      // How BPE's unused pieces are split may depend on any other word of the text.
      by_words_(borders_.any() && !(has_merges_ && has_unused_)) {
  std::array<TokenId, 256> pieces;
  pieces.fill(no_piece);
  std::vector<Trie::Entry> cut_out;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    if (texts_.find(piece.text) >= 0) fail("{}: the piece '{}' appears twice", source, piece.text);
    texts_.add(piece.text, static_cast<std::int64_t>(i), source);
    info_.push_back({piece.score, piece.type});
    if (may_be_cut_out(piece.type)) cut_out.push_back({piece.text, static_cast<TokenId>(i)});
  }
  trie_ = Trie(std::move(cut_out));
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    const TokenId piece = texts_.find(name);
    if (byte_fallback_ && (piece < 0 || info(piece).type != Type::byte))
      fail("{}: byte_fallback is on, but there is no piece {} of type byte", source, name);
    bytes_[byte] = piece < 0 ? -1 : ids.ids[static_cast<std::size_t>(piece)];
  }
  if (!this->fields().is_null()) {
    if (has_merges_) merges_ = sentencepiece_merges(file, ids);
    scores_by_id_.resize(static_cast<std::size_t>(vocabulary().end_id()));
    for (std::size_t i = 0; i < ids.ids.size(); ++i)
      scores_by_id_[static_cast<std::size_t>(ids.ids[i])] = info_[i].score;
  }
  ids_ = std::move(ids.ids);
}

TokenId SentencePieceBase::find_piece(std::string_view text) const {
  const TokenId piece = texts_.find(text);
  return piece >= 0 && may_be_cut_out(info(piece).type) ? piece : no_piece;
}

void SentencePieceBase::tokenize_word(std::string_view text, bool, ModelScratch& scratch,
                                      std::vector<TokenPart>& parts) const {
  if (by_words_)
    tokenize_by_words(text, scratch.cache, parts);
  else
    add_parts(text, 0, parts);
}

void SentencePieceBase::tokenize_by_words(std::string_view text, WordCache& cache,
                                          std::vector<TokenPart>& parts) const {
  struct Word {
    std::string_view text;
    bool is_short;
    WordCache::Key key;
  };
  const std::size_t max_scores = max_sure_scores();
  std::size_t scores = 0;  // upper bound of the number of scores added so far
  // The sum of the scores of text[0, summed), for words whose parts depend on it. All ways to divide the text
  // meet at the borders, so it is enough to continue from the last such word.
  float sum = 0;
  std::size_t summed = 0;
  const auto add_in_context = [&](std::string_view word) {
    const auto begin = static_cast<std::size_t>(word.data() - text.data());
    if (summed < begin) {
      Workspace workspace;
      Parts ignored(&workspace);
      sum = segment(text.substr(summed, begin - summed), sum, ignored).sum;
    }
    sum = add_parts(word, sum, parts).sum;
    summed = begin + word.size();
  };
  const auto add_word = [&](const Word& word) {
    const std::size_t first = parts.size();
    if (scores + word.text.size() > max_scores) {
      add_in_context(word.text);
    } else if (const WordCache::Entry* entry = word.is_short ? cache.find(word.key) : nullptr) {
      cache.append(*entry, parts);
    } else if (const auto* known = word.is_short ? nullptr : cache.find_long(word.text)) {
      parts.insert(parts.end(), known->begin(), known->end());
    } else if (add_parts(word.text, 0, parts).sure) {
      const std::span<const TokenPart> found = std::span(parts).subspan(first);
      if (word.is_short)
        cache.insert(word.key, found);
      else
        cache.insert_long(word.text, found);
    } else {
      parts.resize(first);
      add_in_context(word.text);
    }
    if (text.size() <= max_scores) return;  // there cannot be too many
    for (std::size_t i = first; i < parts.size(); ++i)
      scores += parts[i].id == unknown_ ? parts[i].length : 1;
  };
  std::array<Word, 32> words;  // a few at a time, so that their cache entries are loaded in parallel
  WordBorders::Words rest(borders_, text);
  for (std::size_t count = words.size(); count == words.size();) {
    for (count = 0; count < words.size(); ++count) {
      Word& word = words[count];
      word.text = rest.next();
      if (word.text.empty()) break;
      // One of the space's three bytes distinguishes words with a space from those without.
      std::string_view key = word.text;
      if (key.starts_with(space_letter)) key.remove_prefix(space_letter.size() - 1);
      word.is_short = WordCache::is_short(key);
      if (!word.is_short) continue;
      word.key = WordCache::key(key);
      cache.prefetch(word.key);
    }
    for (const Word& word : std::span(words).first(count)) add_word(word);
  }
}

// Neighbours that are not pieces become one part, or bytes. A single unused piece keeps its id.
template <class Action>
void SentencePieceBase::for_each_joined(std::string_view text, const Parts& cut, Action action) const {
  for (std::size_t i = 0; i < cut.size();) {
    std::size_t last = i;
    if (cut[i].piece == no_piece && !byte_fallback_)
      while (last + 1 < cut.size() && cut[last + 1].piece == no_piece) ++last;
    const std::string_view part = text.substr(cut[i].begin, cut[last].end - cut[i].begin);
    action(part, cut[i].piece != no_piece || byte_fallback_ ? cut[i].piece : find_piece(part));
    i = last + 1;
  }
}

// Appends the result of segment().
SentencePieceBase::Segmentation SentencePieceBase::add_parts(std::string_view text, float sum_before,
                                                             std::vector<TokenPart>& parts) const {
  Workspace workspace;
  Parts cut(&workspace);
  const Segmentation result = segment(text, sum_before, cut);
  for_each_joined(text, cut, [&](std::string_view part, TokenId piece) {
    if (!split_digit_comma_ || !add_without_comma(part, parts)) add_part(part, piece, parts);
  });
  return result;
}

void SentencePieceBase::add_part(std::string_view text, TokenId piece, std::vector<TokenPart>& parts) const {
  const auto length = static_cast<std::uint32_t>(text.size());
  if (piece != no_piece) {
    parts.push_back({ids_[static_cast<std::size_t>(piece)], length});
    // A piece without an id still has its own text.
    parts.back().literal = parts.back().id == unknown_ ? 1 : 0;
  } else if (byte_fallback_) {
    for (const char byte : text) parts.push_back({bytes_[static_cast<unsigned char>(byte)], length, 0, 1});
    parts.back().shared = 0;
  } else {
    const TokenId known = finds_texts_ ? vocabulary().find(text) : -1;
    parts.push_back(known < 0 ? TokenPart{unknown_, length, 1} : TokenPart{known, length});
  }
}

bool SentencePieceBase::add_without_comma(std::string_view text, std::vector<TokenPart>& parts) const {
  if (text.size() < 2 || !text.ends_with(',')) return false;
  if (!unicode::is(unicode::last(text.substr(0, text.size() - 1)).value, unicode::digit)) return false;
  // The rest is divided as one word, without spaces; several unknown words together contain several.
  const bool begins = text.starts_with(space_letter);
  std::string rest;
  if (has_prefix_) rest = space_letter;
  for (std::size_t at = begins ? space_letter.size() : 0; at + 1 < text.size();)
    if (text.substr(at).starts_with(space_letter))
      at += space_letter.size();
    else
      rest += text[at++];
  Workspace workspace;
  Parts cut(&workspace);
  segment(rest, 0, cut);
  std::size_t left = text.size() - 1;  // bytes that the remaining parts must cover
  for_each_joined(rest, cut, [&](std::string_view part, TokenId piece) {
    if (has_prefix_ && !begins && part.data() == rest.data()) {
      part.remove_prefix(space_letter.size());
      piece = find_piece(part);
    }
    if (part.empty()) return;
    add_part(part, piece, parts);
    left -= std::min(left, part.size());
  });
  parts.back().length += static_cast<std::uint32_t>(left);
  add_part(",", find_piece(","), parts);
  return true;
}

std::string SentencePieceBase::tables() const {
  if (fields().is_null())
    fail(
        "this tokenizer cannot be saved: the ids of its pieces come from a vocab.json, which a "
        "tokenizer.json cannot express");
  if (!has_merges_) {
    std::string text = "\"vocab\":[";
    for (TokenId id = 0; id < vocabulary().end_id(); ++id) {
      if (id > 0) text += ',';
      text += '[' + Json(vocabulary().token(id)).dump() + ',' +
              Json(scores_by_id_[static_cast<std::size_t>(id)]).dump() + ']';
    }
    return text + ']';
  }
  std::string text = Model::tables() + ",\"merges\":[";
  for (const auto& merge : merges_) {
    if (&merge != merges_.data()) text += ',';
    text += '[' + Json(vocabulary().token(merge.first)).dump() + ',' +
            Json(vocabulary().token(merge.second)).dump() + ']';
  }
  return text + ']';
}

std::vector<std::pair<TokenId, TokenId>> sentencepiece_merges(const SentencePieceFile& file,
                                                              const PieceIds& ids) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < file.pieces.size(); ++i)
    if (file.pieces[i].type == Type::normal) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return file.pieces[a].score > file.pieces[b].score; });
  Vocabulary normal;
  for (const std::size_t i : order) normal.add(file.pieces[i].text, static_cast<std::int64_t>(i), "pieces");
  std::vector<std::pair<TokenId, TokenId>> merges;
  for (const std::size_t i : order) {
    const std::string_view text = file.pieces[i].text;
    for (std::size_t at = 1; at < text.size(); ++at) {
      const TokenId left = normal.find(text.substr(0, at)), right = normal.find(text.substr(at));
      if (left < 0 || right < 0) continue;
      merges.emplace_back(ids.ids[static_cast<std::size_t>(left)], ids.ids[static_cast<std::size_t>(right)]);
    }
  }
  return merges;
}

std::unique_ptr<Model> make_sentencepiece_model(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                const std::string& source) {
  switch (file.kind) {
    case SentencePieceFile::Kind::unigram:
      return make_sentencepiece_unigram(file, std::move(ids), std::move(fields), source);
    case SentencePieceFile::Kind::bpe:
      return make_sentencepiece_bpe(file, std::move(ids), std::move(fields), source);
    case SentencePieceFile::Kind::word:
    case SentencePieceFile::Kind::character:
      return make_sentencepiece_whole(file, std::move(ids), std::move(fields), source);
  }
  fail("{}: unknown model_type {}", source, static_cast<int>(file.kind));
}

}  // namespace attend::tokenizers
