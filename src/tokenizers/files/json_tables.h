// Reads a tokenizer.json. The vocabulary and the merges, which may have hundreds of thousands of entries, are
// read directly into their tables; everything else becomes a JSON tree.
#pragma once

#include "formats/json/json.h"
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
  Json fields;  // the whole file, except model.vocab and model.merges
  ModelTables tables;
  // Parts that other files define and no tokenizer.json can express: `model` replaces that of the tables, and
  // the next two replace the fields normalizer and pre_tokenizer, which then hold the closest approximation.
  std::unique_ptr<Model> model;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;   // only with a normalizer; null: none
  std::unique_ptr<Normalizer> lowercase;         // for AddedTokens::take_lowercase
  std::optional<TokenId> unknown_language_code;  // for AddedTokens::take_language_codes
  std::unique_ptr<Decoder> decoder;
  // Like transformers' slow tokenizers: added tokens have the ids of the list; both texts of a pair are
  // truncated token by token; and the added tokens in `apart` are separated from decoded text around them by
  // `between_parts`, except that nothing comes before those in `closing`.
  bool slow = false;
  std::set<std::string> apart;
  std::string between_parts = " ";
  std::set<std::string> closing;
  std::set<TokenId> marked;            // counted in special_tokens_mask even if they come from the text
                                       // (Marian)
  std::optional<TokenId> closes_once;  // the special token after a text; not added if the text ends with it
                                       // (T5)
};

// `source` names the file in errors.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source);

// A vocab.json: an object of tokens and their ids.
ModelTables read_vocab_json(const std::filesystem::path& path);

}  // namespace attend::tokenizers
