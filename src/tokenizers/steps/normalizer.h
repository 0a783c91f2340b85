// The "normalizer" of tokenizer.json: rewrites the text before it is split.
#pragma once

#include "formats/json/json.h"
#include "tokenizers/text/text.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::tokenizers {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

// `source` names the file and the field in errors; `depth` counts the Sequences around it.
std::unique_ptr<Normalizer> make_normalizer(const Json& json, const std::string& source, int depth = 0);

// Applies them one after another.
std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> parts);

// Steps that several normalizers share.
void lowercase(NormalizedText& text);
void normalize(NormalizedText& text, unicode::Form form);

std::unique_ptr<Normalizer> make_bert_normalizer(const Json& json, const std::string& source);
std::unique_ptr<Normalizer> make_form_normalizer(unicode::Form form);
std::unique_ptr<Normalizer> make_precompiled_normalizer(const Json& json, const std::string& source);
std::unique_ptr<Normalizer> make_slow_strip_accents();
std::unique_ptr<Normalizer> make_newer_spaces(std::unique_ptr<Normalizer> rules, std::string unknown,
                                              bool prefix);
std::unique_ptr<Normalizer> make_slow_lowercase(bool by_words);

}  // namespace attend::tokenizers
