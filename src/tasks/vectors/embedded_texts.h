// Texts as a model reads them whose vectors are wanted: with prompts, cut, and in lower case, as a
// sentence-transformers directory says.
#pragma once

#include <attend/embedder.h>
#include <attend/tokenizer.h>

#include "sources/sentence_modules.h"

#include <set>
#include <string>
#include <vector>

namespace attend {

class EmbeddedTexts {
 public:
  // `positions`: how many tokens the model reads.
  EmbeddedTexts(const ModelDirectory& files, SentenceDirectory directory, std::int64_t positions);

  const SentenceDirectory& directory() const { return directory_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  // Error for one that the model does not have.
  const std::string& prompt(const EmbedOptions& options) const;
  // With the prompt. `with_types`: with type_ids and attention_mask.
  std::vector<Encoding> encode(const std::vector<std::string>& texts, const EmbedOptions& options,
                               bool with_types) const;
  // The number of tokens of the prompt in each encoding, without the special token at the end.
  std::int64_t prompt_tokens(const EmbedOptions& options) const;
  // The tokens in these roles of the tokenizer, such as "cls_token".
  std::set<TokenId> special_tokens(std::span<const char* const> roles) const;

 private:
  SentenceDirectory directory_;
  std::filesystem::path path_;
  Tokenizer tokenizer_;
  std::size_t max_length_;  // tokens of a text
};

}  // namespace attend
