// The files beside a vocabulary that say which class reads it and which tokens are special:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and, for the model's type, config.json.
#pragma once

#include "formats/json.h"
#include "tokenizers/vocabulary.h"

#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

// A special token of a family: "eos_token" and so on.
struct Role {
  const char* name;
  const char* token;        // where the directory says nothing
  bool left_strip = false;  // takes the space in front of it along
};

class TokenizerConfig {
 public:
  explicit TokenizerConfig(const std::filesystem::path& directory);

  // The tokenizer_class without "Tokenizer" or "TokenizerFast", or the model_type; empty where nothing is
  // said.
  const std::string& family() const { return family_; }
  const Fields& fields() const { return fields_; }  // tokenizer_config.json

  // What the directory, or else `otherwise`, says the token of a role ("eos_token") is; empty: there is none.
  std::string token(std::string_view role, const std::string& otherwise) const;
  // The tokens of all these roles, by role.
  std::map<std::string, std::string> tokens(std::span<const Role> roles) const;
  // A template with the tokens of its roles: "$A eos_token" and so on. A role with a '?' is left out where
  // add_bos_token (usually true), add_eos_token (usually false)... say so.
  std::string fill_in(const std::string& text, const std::map<std::string, std::string>& tokens) const;
  // The "added_tokens" of a tokenizer.json: those of the directory with the flags they have there, then
  // `specials`. They are looked for in the text as it is, whatever the directory says: slow tokenizers do
  // not normalize them.
  struct Token {
    std::string text;
    bool left_strip = false, right_strip = false, special = true;
  };
  Json added_tokens(const std::vector<Token>& specials, const Vocabulary& vocabulary) const;
  // Whether the directory has a list of its own: it takes the place of a family's.
  bool names_additional_tokens() const;

 private:
  Fields fields_;
  Json map_;    // special_tokens_map.json
  Json added_;  // added_tokens.json: ids by text
  std::string family_;
};

// Templates as text, "<s> $A </s>" or "[CLS] $A [SEP] $B:1 [SEP]:1", as a TemplateProcessing; what is neither
// $A nor $B is one of `added_tokens`, the list of tokenizer.json.
Json template_processor(const std::string& single, const std::string& pair, const Json& added_tokens);

}  // namespace attend::tokenizers
