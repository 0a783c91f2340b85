#include "tokenizers/model_sentencepiece.h"

#include "base/error.h"
#include "tokenizers/metaspace.h"

#include <algorithm>
#include <cstdio>
#include <span>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

constexpr std::string_view space = space_letter;

bool may_be_cut_out(Type type) {
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

// Where the word at `at`, with the spaces before it, ends: at the next space behind another character.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (text.substr(at).starts_with(space)) at += space.size();
  return std::min(text.find(space, at), text.size());
}

}  // namespace

SentencePieceBase::SentencePieceBase(const SentencePieceFile& file, PieceIds ids, Json fields,
                                     const std::string& source)
    : Model(std::move(ids.vocabulary), std::move(fields)),
      has_merges_(file.kind == SentencePieceFile::Kind::bpe),
      unknown_(ids.unknown),
      split_digit_comma_(ids.split_digit_comma),
      byte_fallback_(file.byte_fallback) {
  std::array<TokenId, 256> pieces;
  pieces.fill(no_piece);
  std::vector<Trie::Entry> cut_out;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    texts_.add(piece.text, static_cast<std::int64_t>(i), source);  // refuses what is there twice
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
  words_apart_ = keeps_words_apart(file);
}

TokenId SentencePieceBase::find_piece(std::string_view text) const {
  const TokenId piece = texts_.find(text);
  return piece >= 0 && may_be_cut_out(info(piece).type) ? piece : no_piece;
}

// Whether no piece reaches from one word into the next, and each word but the first begins with a piece, so
// that the words of a text are tokenized independently. The space of "x y" belongs to the second word.
bool SentencePieceBase::keeps_words_apart(const SentencePieceFile& file) const {
  const TokenId letter = find_piece(space);
  if (letter == no_piece || info(letter).type == Type::unused) return false;
  return std::none_of(file.pieces.begin(), file.pieces.end(), [](const SentencePieceFile::Piece& piece) {
    return may_be_cut_out(piece.type) && end_of_word(piece.text, 0) < piece.text.size();
  });
}

void SentencePieceBase::tokenize_word(std::string_view text, bool, ModelScratch& scratch,
                                      std::vector<TokenPart>& parts) const {
  if (words_apart_) {
    const std::size_t before = parts.size();
    if (tokenize_by_words(text, scratch.cache, parts)) return;
    parts.resize(before);
  }
  tokenize_whole(text, parts);
}

// False if that might not be exact.
bool SentencePieceBase::tokenize_by_words(std::string_view text, WordCache& cache,
                                          std::vector<TokenPart>& parts) const {
  struct Word {
    std::string_view text;
    bool is_short;
    WordCache::Key key;
  };
  std::array<Word, 16> words;  // some at a time, for the cache to bring their entries near
  std::size_t scores = 0;      // at most that many were added up so far
  for (std::size_t at = 0; at < text.size();) {
    std::size_t count = 0;
    for (; count < words.size() && at < text.size(); ++count) {
      Word& word = words[count];
      const std::size_t end = end_of_word(text, at);
      word.text = text.substr(at, end - at);
      at = end;
      // One of the space's three bytes tells words with it from those without.
      const std::string_view rest = word.text.substr(word.text.starts_with(space) ? space.size() - 1 : 0);
      word.is_short = WordCache::is_short(rest);
      if (!word.is_short) continue;
      word.key = WordCache::key(rest);
      cache.prefetch(word.key);
    }
    for (const Word& word : std::span(words).first(count)) {
      const std::size_t first = parts.size();
      if (const WordCache::Entry* entry = word.is_short ? cache.find(word.key) : nullptr) {
        for (std::size_t i = 0; i < entry->count; ++i) parts.push_back(entry->part(i));
      } else if (const auto* known = word.is_short ? nullptr : cache.find_long(word.text)) {
        parts.insert(parts.end(), known->begin(), known->end());
      } else {
        if (!tokenize_whole(word.text, parts)) return false;
        const std::span<const TokenPart> found = std::span(parts).subspan(first);
        if (word.is_short)
          cache.insert(word.key, found);
        else
          cache.insert_long(word.text, found);
      }
      for (std::size_t i = first; i < parts.size(); ++i)
        scores += parts[i].id == unknown_ ? parts[i].length : 1;
    }
    if (scores > most_sure_scores()) return false;
  }
  return true;
}

// What segment() says.
bool SentencePieceBase::tokenize_whole(std::string_view word, std::vector<TokenPart>& parts) const {
  Workspace workspace;
  Parts cut(&workspace);
  const bool sure = segment(word, cut);
  for (Part& part : cut)
    if (part.piece == no_piece) part.piece = find_piece(word.substr(part.begin, part.end - part.begin));
  // Neighbours that are no pieces become one.
  for (std::size_t i = 0; i < cut.size();) {
    std::size_t last = i;
    if (cut[i].piece == no_piece)
      while (last + 1 < cut.size() && cut[last + 1].piece == no_piece) ++last;
    const std::string_view text = word.substr(cut[i].begin, cut[last].end - cut[i].begin);
    const TokenId piece = last == i ? cut[i].piece : find_piece(text);
    if (!split_digit_comma_ || !add_without_comma(text, parts)) add_part(text, piece, parts);
    i = last + 1;
  }
  return sure;
}

void SentencePieceBase::add_part(std::string_view text, TokenId piece, std::vector<TokenPart>& parts) const {
  const auto length = static_cast<std::uint32_t>(text.size());
  if (piece != no_piece) {
    parts.push_back({ids_[static_cast<std::size_t>(piece)], length});
    // A piece without an id of its own reads as itself all the same.
    parts.back().literal = parts.back().id == unknown_ ? 1 : 0;
  } else if (byte_fallback_) {
    for (const char byte : text) parts.push_back({bytes_[static_cast<unsigned char>(byte)], length, 0, 1});
    parts.back().shared = 0;
  } else {
    parts.push_back({unknown_, length, 1});
  }
}

bool SentencePieceBase::add_without_comma(std::string_view text, std::vector<TokenPart>& parts) const {
  if (text.size() < 2 || !text.ends_with(',')) return false;
  if (const char before = text[text.size() - 2]; before < '0' || before > '9') return false;
  // The rest is cut as if a word began with it.
  const bool begins = text.starts_with(space);
  std::string rest(space);
  rest += text.substr(begins ? space.size() : 0);
  rest.pop_back();
  Workspace workspace;
  Parts cut(&workspace);
  segment(rest, cut);
  for (const Part& part : cut) {
    std::string_view piece = std::string_view(rest).substr(part.begin, part.end - part.begin);
    if (!begins && part.begin == 0) piece.remove_prefix(space.size());
    if (!piece.empty()) add_part(piece, find_piece(piece), parts);
  }
  add_part(",", find_piece(","), parts);
  return true;
}

std::string SentencePieceBase::tables() const {
  if (fields().is_null())
    fail("the ids of this tokenizer's pieces come from a vocab.json, which no tokenizer.json can say");
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
      break;
  }
  fail("{}: model_type is {}, expected 1 (unigram) or 2 (bpe)", source, static_cast<int>(file.kind));
}

}  // namespace attend::tokenizers
