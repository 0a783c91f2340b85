// The files beside a vocabulary that say which class reads it and which tokens are special:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and, for the model's type, config.json.
#pragma once

#include "formats/json.h"
#include "tokenizers/models/vocabulary.h"

#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::tokenizers {

// A special token of a family: "eos_token" and so on.
struct Role {
  const char* name;
  const char* token;        // where the directory says nothing; empty: there is none
  bool left_strip = false;  // takes the space in front of it along
  bool normalized = false;  // is looked for in the normalized text
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
  struct Token {
    std::string text;
    bool left_strip = false, right_strip = false, special = true, single_word = false, normalized = false;
    bool has_flags = false;  // they count even where the token is there already
  };
  // The tokens of these roles, in their order, with the flags that the directory or the role gives them.
  std::vector<Token> specials(std::span<const Role> roles) const;
  // The directory's own additional_special_tokens, which take the place of a family's; nothing: it has none.
  std::optional<std::vector<Token>> additional_tokens() const;

  // The "added_tokens" of a tokenizer.json: `first`, those of the directory, then `specials`. Of a token that
  // comes again the last flags count.
  enum class Kind {
    fast,  // numbered behind the vocabulary, as transformers' fast tokenizers do
    slow,  // have the directory's ids, and are looked for in the text as it is, as the slow ones do
  };
  Json added_tokens(Kind kind, const std::vector<Token>& first, const std::vector<Token>& specials,
                    const Vocabulary& vocabulary) const;

  // Of such a list of a slow tokenizer: those that stand apart in decoded text, spaces around them. They have
  // no role, or no id in the vocabulary and none of `roles`.
  std::set<std::string> tokens_apart(const Json& added, std::span<const Role> roles,
                                     const Vocabulary& vocabulary) const;
  // Makes those of tokenizer.json's added tokens special that the directory lists and has a role for, as
  // transformers' fast tokenizers do: they are left out of decoded text.
  void mark_specials(Json& added_tokens) const;

 private:
  Fields fields_;
  Json map_;                                                          // special_tokens_map.json
  Json added_;                                                        // added_tokens.json: ids by text
  const Json* value_of(std::string_view role) const;                  // null: the directory does not say it
  std::vector<std::pair<std::int64_t, Token>> listed_tokens() const;  // by id
  std::set<std::string> special_texts() const;                        // of all roles, and the additional ones
  std::string family_;
};

// Templates as text, "<s> $A </s>" or "[CLS] $A [SEP] $B:1 [SEP]:1", as a TemplateProcessing; what is neither
// $A nor $B is one of `added_tokens`, the list of tokenizer.json, or of the vocabulary, where one is given,
// or has the id of `otherwise`.
Json template_processor(const std::string& single, const std::string& pair, const Json& added_tokens,
                        const Vocabulary* vocabulary = nullptr, const std::string& otherwise = "");

}  // namespace attend::tokenizers
