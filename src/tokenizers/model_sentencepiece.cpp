#include "tokenizers/model_sentencepiece.h"

#include "base/error.h"
#include "tokenizers/metaspace.h"

#include <algorithm>
#include <cstdio>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

constexpr std::string_view space = space_letter;

bool may_be_cut_out(Type type) {
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

}  // namespace

SentencePieceBase::SentencePieceBase(const SentencePieceFile& file, PieceIds ids, Json fields,
                                     const std::string& source)
    : Model(std::move(ids.vocabulary), std::move(fields)),
      has_merges_(file.kind == SentencePieceFile::Kind::bpe),
      unknown_(ids.unknown),
      split_digit_comma_(ids.split_digit_comma),
      byte_fallback_(file.byte_fallback) {
  Vocabulary texts;  // refuses what is there twice
  std::array<TokenId, 256> pieces;
  pieces.fill(no_piece);
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    texts.add(piece.text, static_cast<std::int64_t>(i), source);
    info_.push_back({piece.score, piece.type});
    if (may_be_cut_out(piece.type)) trie_.add(piece.text, static_cast<TokenId>(i));
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    const TokenId piece = texts.find(name);
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
  TokenId found = no_piece;
  trie_.find_prefixes(text, [&](std::size_t length, TokenId piece) {
    if (length == text.size()) found = piece;
  });
  return found;
}

void SentencePieceBase::tokenize_word(std::string_view word, bool, ModelScratch&,
                                      std::vector<TokenPart>& parts) const {
  std::vector<Part> cut;
  segment(word, cut);
  // Neighbours that are no pieces become one.
  for (std::size_t i = 0; i < cut.size();) {
    std::size_t last = i;
    const auto is_unknown = [&](const Part& part) {
      return find_piece(word.substr(part.begin, part.end - part.begin)) == no_piece;
    };
    if (is_unknown(cut[i]))
      while (last + 1 < cut.size() && is_unknown(cut[last + 1])) ++last;
    const std::string_view text = word.substr(cut[i].begin, cut[last].end - cut[i].begin);
    if (!split_digit_comma_ || !add_without_comma(text, parts)) add_part(text, parts);
    i = last + 1;
  }
}

void SentencePieceBase::add_part(std::string_view text, std::vector<TokenPart>& parts) const {
  const auto length = static_cast<std::uint32_t>(text.size());
  if (const TokenId piece = find_piece(text); piece != no_piece) {
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
  std::vector<Part> cut;
  segment(rest, cut);
  for (const Part& part : cut) {
    std::string_view piece = std::string_view(rest).substr(part.begin, part.end - part.begin);
    if (!begins && part.begin == 0) piece.remove_prefix(space.size());
    if (!piece.empty()) add_part(piece, parts);
  }
  add_part(",", parts);
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
