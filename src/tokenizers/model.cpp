#include "tokenizers/model.h"

#include "base/error.h"

namespace attend::tokenizers {

void Model::tokenize(const Pieces& pieces, ModelScratch& scratch, Tokens& tokens) const {
  for (std::uint32_t index = 0; index < pieces.pieces.size(); ++index) {
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
    if (depends_on_chance(scratch)) {
      scratch.parts.clear();
      tokenize_word(word, pieces.byte_level, scratch, scratch.parts);
      add_parts(scratch.parts);
    } else if (WordCache::is_short(word)) {
      const WordCache::Key key = WordCache::key(word);
      if (const WordCache::Entry* entry = scratch.cache.find(key)) {
        if (entry->count == 1)
          tokens.ids.push_back(entry->ids[0]);
        else
          tokens.ids.insert(tokens.ids.end(), entry->ids.begin(), entry->ids.begin() + entry->count);
        if (tokens.with_places)
          for (std::size_t i = 0; i < entry->count; ++i) add_place(entry->part(i));
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

void ModelTables::add_merge(std::string_view left, std::string_view right, const std::string& source) {
  const auto id = [&](std::string_view token) {
    const TokenId found = vocabulary.find(token);
    if (found < 0)
      fail("{}: merges[{}] joins '{}' and '{}', but '{}' is not in the vocabulary", source, merges.size(),
           left, right, token);
    return found;
  };
  const TokenId left_id = id(left);
  merges.emplace_back(left_id, id(right));
}

void ModelTables::add_merge_line(std::string_view line, const std::string& source) {
  const std::size_t space = line.find(' ');
  if (space == line.npos || line.find(' ', space + 1) != line.npos)
    fail("{}: merges[{}] is '{}', expected two tokens and a space between them", source, merges.size(), line);
  add_merge(line.substr(0, space), line.substr(space + 1), source);
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
