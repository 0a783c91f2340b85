#include "tokenizers/model.h"

#include "base/error.h"

#include <algorithm>
#include <array>

namespace attend::tokenizers {

void Model::tokenize(const Pieces& pieces, ModelScratch& scratch, Tokens& tokens) const {
  // Keys of the words ahead, for the cache to bring their entries near.
  constexpr std::size_t ahead = 16;
  const bool by_chance = depends_on_chance(scratch);
  std::array<WordCache::Key, ahead> keys;
  const auto look_ahead = [&](std::size_t index) {
    if (by_chance || index >= pieces.pieces.size()) return;
    const std::string_view word = pieces.view(pieces.pieces[index]);
    if (!WordCache::is_short(word)) return;
    keys[index % ahead] = WordCache::key(word);
    scratch.cache.prefetch(keys[index % ahead]);
  };
  for (std::size_t index = 0; index < std::min(ahead, pieces.pieces.size()); ++index) look_ahead(index);
  for (std::uint32_t index = 0; index < pieces.pieces.size(); look_ahead(index++ + ahead)) {
    const Piece& piece = pieces.pieces[index];
    const std::string_view word = pieces.view(piece);
    if (piece.token >= 0) {
      tokens.ids.push_back(piece.token);
      if (tokens.with_places)
        tokens.places.push_back({index, 0, static_cast<std::uint32_t>(word.size()), true});
      continue;
    }
    std::uint32_t at = 0;
    const auto add_place = [&](const TokenPart& part) {
      tokens.places.push_back({index, at, at + part.length, part.literal != 0});
      if (part.shared == 0) at += part.length;
    };
    const auto add_parts = [&](std::span<const TokenPart> parts) {
      for (const TokenPart& part : parts) tokens.ids.push_back(part.id);
      if (tokens.with_places)
        for (const TokenPart& part : parts) add_place(part);
    };
    if (by_chance) {
      scratch.parts.clear();
      tokenize_word(word, pieces.byte_level, scratch, scratch.parts);
      add_parts(scratch.parts);
    } else if (WordCache::is_short(word)) {
      const WordCache::Key& key = keys[index % ahead];
      if (const WordCache::Entry* entry = scratch.cache.find(key)) {
        if (!tokens.with_places) {
          scratch.cache.append(*entry, tokens.ids);
          continue;
        }
        scratch.parts.clear();
        scratch.cache.append(*entry, scratch.parts);
        add_parts(scratch.parts);
        continue;
      }
      scratch.parts.clear();
      tokenize_word(word, pieces.byte_level, scratch, scratch.parts);
      scratch.cache.insert(key, scratch.parts);
      add_parts(scratch.parts);
    } else if (const auto* known = scratch.cache.find_long(word)) {
      add_parts(*known);
    } else {
      scratch.parts.clear();
      tokenize_word(word, pieces.byte_level, scratch, scratch.parts);
      scratch.cache.insert_long(word, scratch.parts);
      add_parts(scratch.parts);
    }
  }
}

std::string Model::tables() const {
  std::string text = "\"vocab\":{";
  bool first = true;
  for (TokenId id = 0; id < vocabulary_.end_id(); ++id) {
    if (!vocabulary_.contains(id)) continue;
    if (!first) text += ',';
    first = false;
    text += Json(vocabulary_.token(id)).dump();
    text += ':';
    text += std::to_string(id);
  }
  return text + '}';
}

void ModelTables::add_merges(std::span<const std::string_view> tokens, const std::string& source) {
  std::vector<TokenId> ids(tokens.size());
  vocabulary.find(tokens, ids);
  for (std::size_t i = 0; i < tokens.size(); i += 2) {
    const std::size_t unknown = ids[i] < 0 ? i : i + 1;
    if (ids[unknown] < 0)
      fail("{}: merges[{}] joins '{}' and '{}', but '{}' is not in the vocabulary", source, merges.size(),
           tokens[i], tokens[i + 1], tokens[unknown]);
    merges.emplace_back(ids[i], ids[i + 1]);
  }
}

std::unique_ptr<Model> make_model(const Json& fields, ModelTables tables, const std::string& source) {
  if (!tables.has_vocabulary) fail("{}: the field vocab is missing", source);
  const Fields read(fields, source);
  // Files from before the field existed are told apart by the fields they have.
  std::string type = read.text({"type"}, "");
  if (type.empty())
    type = tables.has_merges                        ? "BPE"
           : !tables.scores.empty()                 ? "Unigram"
           : read.has({"max_input_chars_per_word"}) ? "WordPiece"
                                                    : "WordLevel";
  if (type == "BPE") return make_bpe(fields, std::move(tables), source);
  if (type == "WordPiece") return make_wordpiece(fields, std::move(tables), source);
  if (type == "WordLevel") return make_wordlevel(fields, std::move(tables), source);
  if (type == "Unigram") return make_unigram(fields, std::move(tables), source);
  fail("{}: type is '{}', expected BPE, WordPiece, WordLevel or Unigram", source, type);
}

}  // namespace attend::tokenizers
