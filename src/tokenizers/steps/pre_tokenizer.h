// The "pre_tokenizer" of tokenizer.json: splits a normalized text into words for the model.
#pragma once

#include "formats/json/json.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/text/text.h"

#include <memory>
#include <string>

namespace attend::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
  // Whether it uses the position of a piece in the given text, so that the alignment must be kept.
  virtual bool needs_alignment() const { return false; }
};

// `source` names the file and the field in errors; `depth` counts the Sequences around it.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& json, const std::string& source, int depth = 0);

std::unique_ptr<PreTokenizer> make_byte_level_pre_tokenizer(const Json& json, const std::string& source);
std::unique_ptr<PreTokenizer> make_split_pre_tokenizer(const Json& json, const std::string& source);
std::unique_ptr<PreTokenizer> make_punctuation_pre_tokenizer(const Json& json, const std::string& source);
std::unique_ptr<PreTokenizer> make_digits_pre_tokenizer(const Json& json, const std::string& source);
std::unique_ptr<PreTokenizer> make_delimiter_pre_tokenizer(const Json& json, const std::string& source);
std::unique_ptr<PreTokenizer> make_scripts_pre_tokenizer();
std::unique_ptr<PreTokenizer> make_metaspace_pre_tokenizer(const Json& json, const std::string& source);
// Separates punctuation, and normalizes each part separately.
std::unique_ptr<PreTokenizer> make_punctuated_pre_tokenizer(std::unique_ptr<Normalizer> rules);

}  // namespace attend::tokenizers
