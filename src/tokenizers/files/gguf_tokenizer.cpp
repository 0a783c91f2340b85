#include "tokenizers/files/gguf_tokenizer.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/sentencepiece.h"
#include "sources/gguf/gguf.h"
#include "tokenizers/files/bpe_files.h"
#include "tokenizers/files/gguf_cuts.h"
#include "tokenizers/files/sentencepiece_conversion.h"
#include "tokenizers/files/vocabulary_files.h"
#include "tokenizers/text/metaspace.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;  // GGUF uses the same numbers
constexpr const char* key_tokens = "tokenizer.ggml.tokens";

struct GgufToken {
  std::string_view text;
  Type type = Type::normal;
};

std::vector<GgufToken> read_tokens(const Gguf& gguf) {
  constexpr const char* key = "tokenizer.ggml.token_type";
  std::vector<GgufToken> tokens;
  for (const std::string_view text : gguf.texts(key_tokens)) tokens.push_back({text});
  if (!gguf.has_array(key)) return tokens;
  const std::vector<std::int64_t> types = gguf.integers(key);
  if (types.size() != tokens.size())
    fail("{}: {}: expected one for each of {} tokens, found {}", gguf.source(), key, tokens.size(),
         types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 1 || types[i] > static_cast<std::int64_t>(Type::byte))
      fail("{}: {}: expected 1 to 6, found {} for token {}", gguf.source(), key, types[i], i);
    tokens[i].type = static_cast<Type>(types[i]);
  }
  return tokens;
}

// The tokens that are searched for in the text, according to the converter.
std::vector<TokenizerConfig::Token> added(const std::vector<GgufToken>& tokens) {
  std::vector<TokenizerConfig::Token> result;
  for (const GgufToken& token : tokens)
    if (token.type == Type::control || token.type == Type::user_defined)
      result.push_back({.text = std::string(token.text), .special = token.type == Type::control});
  return result;
}

TokenizerJson read_gpt2(const Gguf& gguf, const TokenizerConfig& config) {
  const GgufCut& cut = gguf_cut(gguf);
  ModelTables tables;
  tables.has_vocabulary = tables.has_merges = true;
  const std::vector<GgufToken> tokens = read_tokens(gguf);
  const std::string source = gguf.source() + ": " + key_tokens;
  for (std::size_t id = 0; id < tokens.size(); ++id)
    if (tokens[id].type != Type::unused)  // "[PAD50300]" fills an id that the original does not use
      tables.vocabulary.add(tokens[id].text, static_cast<std::int64_t>(id), source);
  constexpr const char* key = "tokenizer.ggml.merges";
  std::vector<std::string_view> pairs;
  for (const std::string_view merge : gguf.texts(key)) {
    const std::size_t space = merge.find(' ');
    if (space == 0 || space == merge.npos || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != merge.npos)
      fail("{}: {}: expected two tokens and a space between them, found {}", gguf.source(), key,
           shown(Json(std::string(merge))));
    pairs.insert(pairs.end(), {merge.substr(0, space), merge.substr(space + 1)});
  }
  tables.add_merges(pairs, gguf.source() + ": " + key);

  static constexpr Role roles[] = {{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  const auto by_role = config.tokens(roles);
  const Json list = config.added_tokens(TokenizerConfig::Kind::fast, added(tokens), {}, tables.vocabulary);
  const auto wanted = [&](const char* flag, const char* role, bool usual) {
    return config.fields().flag({flag}, usual) ? " " + by_role.at(role) + " " : std::string();
  };
  const bool begins = cut.begins && config.fields().has({"bos_token"});
  const std::string begin = wanted("add_bos_token", "bos_token", begins),
                    end = wanted("add_eos_token", "eos_token", false);
  Json post_processor =
      begin.empty() && end.empty()
          ? byte_level_offsets()
          : template_processor(begin + "$A" + end, begin + "$A" + end + " $B:1", list, &tables.vocabulary);
  TokenizerJson result = byte_level_bpe(std::move(tables), list, std::move(post_processor),
                                        gguf.metadata().flag({"tokenizer.ggml.add_space_prefix"}, false));
  set_cut(cut, result.fields);
  return result;
}

// GGUF marks tokens that begin a word instead of those that continue one.
TokenizerJson read_bert(const Gguf& gguf, const TokenizerConfig& config) {
  const std::vector<GgufToken> tokens = read_tokens(gguf);
  const auto begins = [](const GgufToken& token) { return token.text.starts_with(space_letter); };
  const bool marked = std::ranges::any_of(tokens, begins);
  Vocabulary vocabulary;
  std::int64_t id = 0;
  for (const GgufToken& token : tokens) {
    std::string text(token.text);
    const bool whole = token.type == Type::control || token.type == Type::unknown ||
                       (text.starts_with('[') && text.ends_with(']'));
    if (marked && begins(token))
      text.erase(0, std::string_view(space_letter).size());
    else if (marked && !whole)
      text.insert(0, "##");
    vocabulary.add(text, id++, gguf.source() + ": " + key_tokens);
  }
  return bert_tokenizer(std::move(vocabulary), config);
}

// The pieces and scores of a SentencePiece model.
SentencePieceFile read_pieces(const Gguf& gguf) {
  constexpr const char* key_scores = "tokenizer.ggml.scores";
  std::vector<GgufToken> tokens = read_tokens(gguf);
  std::vector<float> scores = gguf.numbers(key_scores);
  if (scores.size() != tokens.size())
    fail("{}: {}: expected one for each of {} tokens, found {}", gguf.source(), key_scores, tokens.size(),
         scores.size());
  // After the pieces come "[PAD32000]" and so on, where the original has sentinels or nothing.
  while (!tokens.empty() && tokens.back().type == Type::unused && tokens.back().text.starts_with("[PAD"))
    tokens.pop_back();
  SentencePieceFile file;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    file.pieces.push_back({std::string(tokens[i].text), scores[i], tokens[i].type});
    if (tokens[i].text.empty()) fail("{}: {}: token {} is empty", gguf.source(), key_tokens, i);
    if (!std::isfinite(scores[i]))
      fail("{}: {}: expected numbers, found {} for token {}", gguf.source(), key_scores, scores[i], i);
  }
  file.add_dummy_prefix = gguf.metadata().flag({"tokenizer.ggml.add_space_prefix"}, true);
  file.remove_extra_whitespaces = gguf.metadata().flag({"tokenizer.ggml.remove_extra_whitespaces"}, true);
  return file;
}

TokenizerJson read_t5(const Gguf& gguf, const TokenizerConfig& config) {
  constexpr const char* key_rules = "tokenizer.ggml.precompiled_charsmap";
  SentencePieceFile file = read_pieces(gguf);
  std::size_t unknowns = 0;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    SentencePieceFile::Piece& piece = file.pieces[i];
    if (piece.text.starts_with("<extra_id_")) piece.type = Type::control;
    if (piece.type != Type::unknown) continue;
    file.unknown = i;
    ++unknowns;
  }
  if (unknowns != 1)
    fail("{}: tokenizer.ggml.token_type: expected one token of type 2 (unknown), found {}", gguf.source(),
         unknowns);
  if (gguf.has_array(key_rules)) file.charsmap = gguf.bytes(key_rules);
  return convert_sentencepiece(*find_sentencepiece_family("t5"), file, config, TextSide::source,
                               gguf.source() + ": " + key_tokens);
}

std::string with_visible_spaces(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c == ' ')
      result += space_letter;
    else
      result += c;
  return result;
}

// Llama's and Gemma's: pieces that are merged by their scores, and bytes for the rest.
TokenizerJson read_llama(const Gguf& gguf, const TokenizerConfig& config) {
  SentencePieceFile file = read_pieces(gguf);
  file.kind = SentencePieceFile::Kind::bpe;
  file.byte_fallback = true;
  const std::string unknown = config.token("unk_token", "<unk>");
  bool found = false;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    SentencePieceFile::Piece& piece = file.pieces[i];
    if (piece.text == unknown) {
      file.unknown = i;
      found = true;
    }
    if (piece.type != Type::user_defined) continue;
    // The converter has written their spaces as such. They are merged first.
    piece.text = with_visible_spaces(piece.text);
    piece.score = 0;
  }
  if (!found) fail("{}: {}: the tokens do not include {}", gguf.source(), key_tokens, unknown);
  return convert_sentencepiece(*find_sentencepiece_family("llama"), file, config, TextSide::source,
                               gguf.source() + ": " + key_tokens);
}

}  // namespace

TokenizerJson read_gguf_tokenizer(const std::filesystem::path& path) {
  const MappedFile file(path);
  const Gguf gguf(file.bytes(), path.string());
  const std::string kind = gguf.metadata().text({"tokenizer.ggml.model"});
  const std::string architecture = gguf.metadata().text({"general.architecture"}, "");
  const bool known =
      kind == "gpt2" || kind == "bert" || kind == "llama" || (kind == "t5" && architecture.starts_with("t5"));
  if (!known)
    fail("{}: tokenizer.ggml.model: expected gpt2, llama, bert or, of T5, t5, found {}", path.string(),
         shown(Json(kind)));
  const TokenizerConfig config(path);
  return kind == "gpt2"    ? read_gpt2(gguf, config)
         : kind == "llama" ? read_llama(gguf, config)
         : kind == "bert"  ? read_bert(gguf, config)
                           : read_t5(gguf, config);
}

}  // namespace attend::tokenizers
