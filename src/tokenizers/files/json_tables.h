// Reads a tokenizer.json: the vocabulary and the merges, which may have hundreds of thousands of entries, go
// straight into their tables; everything else becomes a JSON tree.
#pragma once

#include "formats/json.h"
#include "tokenizers/models/model.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/steps/pre_tokenizer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace attend::tokenizers {

struct TokenizerJson {
  Json fields;  // the whole file, but for model.vocab and model.merges
  ModelTables tables;
  // What no tokenizer.json can say, from other files: this model instead of that of the tables, and these two
  // instead of the fields normalizer and pre_tokenizer, which are the nearest that can be written.
  std::unique_ptr<Model> model;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;   // only beside a normalizer; null: none
  std::unique_ptr<Normalizer> lowercase;         // of AddedTokens::take_lowercase
  std::optional<TokenId> unknown_language_code;  // of AddedTokens::take_language_codes
  std::unique_ptr<Decoder> decoder;
  // As transformers' slow tokenizers do it: added tokens have the ids that the list says, of a pair both
  // texts are cut token by token, and these added tokens stand apart from decoded text around them, with
  // spaces between, but not before those of `closing`.
  bool slow = false;
  std::set<std::string> apart;
  std::string between_parts = " ";
  std::set<std::string> closing;
  std::set<TokenId> marked;            // in special_tokens_mask also where a text has them (Marian)
  std::optional<TokenId> closes_once;  // the special token behind a text, which may end with it itself (T5)
};

// `source` names the file in errors.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source);

// A vocab.json: an object of tokens and their ids.
ModelTables read_vocab_json(const std::filesystem::path& path);

}  // namespace attend::tokenizers
