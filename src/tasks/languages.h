// The languages of a model that translates between many (M2M-100, NLLB, mBART). Its tokenizer writes a token
// for the source language into every text, and the decoder must begin with one for the target language.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// As transformers' src_lang and tgt_lang: "en", "eng_Latn". Both or neither.
struct LanguagePair {
  std::string source, target;
  bool empty() const { return source.empty() && target.empty(); }
};

class Languages {
 public:
  // `directory` names the model in errors.
  Languages(const TokenizerPair& tokenizers, const std::filesystem::path& directory);

  bool many() const { return many_; }
  // Those of a model of many languages, as codes.
  std::vector<std::string> names() const;

  // The token of the source language, for write_source(), and in `config` that of the target language.
  // Without names: those that the tokenizer is set to; then nothing is to be written. Error without a target
  // language, for a name that the model does not know, and for names where it has no languages to choose
  // from.
  std::optional<std::int64_t> choose(const LanguagePair& names, GenerationConfig& config) const;
  // Puts the token in the place of the one that the tokenizer wrote into the text.
  void write_source(std::vector<std::int64_t>& ids, std::int64_t token) const;

 private:
  std::int64_t token_of(const std::string& language) const;

  const TokenizerPair& tokenizers_;
  std::string model_;
  bool many_ = false;
  std::size_t place_ = 0, from_end_ = 0;  // of the source language among the tokens of an empty text
  std::string example_;                   // a language of the model
  std::optional<std::int64_t> target_;    // that the tokenizer is set to
};

}  // namespace attend
