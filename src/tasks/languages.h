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
  // The languages of a multilingual model, as codes.
  std::vector<std::string> names() const;

  // Returns the token of the source language, for write_source(), and sets that of the target language in
  // `config`. Without names, uses the tokenizer's settings, and no token needs to be written. Throws Error
  // without a target language, for an unknown name, and for names if the model has no choice of languages.
  std::optional<std::int64_t> choose(const LanguagePair& names, GenerationConfig& config) const;
  // Replaces the language token that the tokenizer wrote.
  void write_source(std::vector<std::int64_t>& ids, std::int64_t token) const;

 private:
  std::int64_t token_of(const std::string& language) const;

  const TokenizerPair& tokenizers_;
  std::string model_;
  bool many_ = false;
  std::size_t place_ = 0, from_end_ = 0;  // of the source language among the tokens of an empty text
  std::string example_;                   // a language of the model
  std::optional<std::int64_t> target_;    // the target language in the tokenizer's settings
};

}  // namespace attend
