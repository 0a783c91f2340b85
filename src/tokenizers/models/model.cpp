#include "tokenizers/models/model.h"

#include "base/error.h"

#include <algorithm>
#include <array>

namespace attend::tokenizers {

void Model::tokenize(const Pieces& pieces, ModelScratch& scratch, Tokens& tokens) const {
  const bool by_chance = depends_on_chance(scratch);
  const auto add_parts = [&](std::uint32_t index, std::span<const TokenPart> parts) {
    for (const TokenPart& part : parts) tokens.ids.push_back(part.id);
    if (!tokens.with_places) return;
    std::uint32_t at = 0;
    for (const TokenPart& part : parts) {
      tokens.places.push_back({index, at, at + part.length, part.literal != 0});
      if (part.shared == 0) at += part.length;
    }
  };
  const auto tokenize_new = [&](std::uint32_t index, std::string_view word) {
    scratch.parts.clear();
    tokenize_word(word, pieces.byte_level, scratch, scratch.parts);
    add_parts(index, scratch.parts);
  };
  const auto add_piece = [&](std::uint32_t index, const WordCache::Key& key) {
    const Piece& piece = pieces.pieces[index];
    const std::string_view word = pieces.view(piece);
    if (piece.token >= 0) {
      tokens.ids.push_back(piece.token);
      if (tokens.with_places)
        tokens.places.push_back({index, 0, static_cast<std::uint32_t>(word.size()), true});
    } else if (by_chance) {
      tokenize_new(index, word);
    } else if (!WordCache::is_short(word)) {
      if (const auto* known = scratch.cache.find_long(word)) {
        add_parts(index, *known);
      } else {
        tokenize_new(index, word);
        scratch.cache.insert_long(word, scratch.parts);
      }
    } else if (const WordCache::Entry* entry = scratch.cache.find(key); entry == nullptr) {
      tokenize_new(index, word);
      scratch.cache.insert(key, scratch.parts);
    } else if (!tokens.with_places) {
      scratch.cache.append(*entry, tokens.ids);
    } else {
      scratch.parts.clear();
      scratch.cache.append(*entry, scratch.parts);
      add_parts(index, scratch.parts);
    }
  };
  std::array<WordCache::Key, 32> keys;  // of a few words, so that their cache entries are loaded in parallel
  const auto count = static_cast<std::uint32_t>(pieces.pieces.size());
  for (std::uint32_t begin = 0; begin < count; begin += keys.size()) {
    const std::uint32_t end = std::min(count, begin + static_cast<std::uint32_t>(keys.size()));
    for (std::uint32_t i = begin; i < end && !by_chance; ++i) {
      const std::string_view word = pieces.view(pieces.pieces[i]);
      if (!WordCache::is_short(word)) continue;
      keys[i - begin] = WordCache::key(word);
      scratch.cache.prefetch(keys[i - begin]);
    }
    for (std::uint32_t i = begin; i < end; ++i) add_piece(i, keys[i - begin]);
  }
}

std::string Model::tables() const {
  std::string text = "\"vocab\":{";
  bool first = true;
  vocabulary_.for_each([&](std::string_view token, TokenId id) {
    if (!first) text += ',';
    first = false;
    text += Json(token).dump();
    text += ':';
    text += std::to_string(id);
  });
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
  // Files from before this field existed are recognized by their other fields.
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
