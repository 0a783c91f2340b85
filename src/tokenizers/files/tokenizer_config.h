// The files next to a vocabulary that determine the tokenizer's class and special tokens:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and, for the model's type, config.json.
#pragma once

#include "formats/json/json.h"
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
  const char* token;        // the default; empty: none
  bool left_strip = false;  // includes the space before it
  bool normalized = false;  // is searched for in the normalized text
};

class TokenizerConfig {
 public:
  explicit TokenizerConfig(const std::filesystem::path& directory);

  // The tokenizer_class without "Tokenizer" or "TokenizerFast", or the model_type; empty if there is neither.
  const std::string& family() const { return family_; }
  const Fields& fields() const { return fields_; }  // tokenizer_config.json

  // The token of a role ("eos_token") in the directory, or else `otherwise`; empty: none.
  std::string token(std::string_view role, const std::string& otherwise) const;
  // The tokens of all these roles, by role.
  std::map<std::string, std::string> tokens(std::span<const Role> roles) const;
  // Replaces the roles in a template by their tokens: "$A eos_token" and so on. A role with a '?' is left out
  // unless add_bos_token (default true), add_eos_token (default false)... override that.
  std::string fill_in(const std::string& text, const std::map<std::string, std::string>& tokens) const;
  struct Token {
    std::string text;
    bool left_strip = false, right_strip = false, special = true, single_word = false, normalized = false;
    bool has_flags = false;  // they apply even if the token exists already
  };
  // The tokens of these roles, in this order, with the flags of the directory or the role.
  std::vector<Token> specials(std::span<const Role> roles) const;
  // The directory's additional_special_tokens, which replace a family's; none: the directory has no list.
  std::optional<std::vector<Token>> additional_tokens() const;

  // The "added_tokens" of a tokenizer.json: `first`, those of the directory, then `specials`. If a token
  // occurs again, the last flags count.
  enum class Kind {
    fast,  // numbered after the vocabulary, like transformers' fast tokenizers
    slow,  // with the directory's ids, searched for in the original text, like the slow ones
  };
  Json added_tokens(Kind kind, const std::vector<Token>& first, const std::vector<Token>& specials,
                    const Vocabulary& vocabulary) const;

  // The tokens in such a list of a slow tokenizer that are surrounded by spaces in decoded text. They have no
  // role, or no id in the vocabulary and none of `roles`.
  std::set<std::string> tokens_apart(const Json& added, std::span<const Role> roles,
                                     const Vocabulary& vocabulary) const;
  // Makes those added tokens special that the directory lists with a role, like transformers' fast
  // tokenizers: decoded text leaves them out.
  void mark_specials(Json& added_tokens) const;

 private:
  Fields fields_;
  Json map_;                                                          // special_tokens_map.json
  Json added_;                                                        // added_tokens.json: ids by text
  const Json* value_of(std::string_view role) const;                  // null: not in the directory
  std::vector<std::pair<std::int64_t, Token>> listed_tokens() const;  // by id
  std::set<std::string> special_texts() const;                        // of all roles, and the additional ones
  std::string family_;
};

// Converts templates in text form, "<s> $A </s>" or "[CLS] $A [SEP] $B:1 [SEP]:1", to a TemplateProcessing.
// Each word except $A and $B is one of `added_tokens`, the list of tokenizer.json, or of the vocabulary, if
// one is given; else it has the id of `otherwise`.
Json template_processor(const std::string& single, const std::string& pair, const Json& added_tokens,
                        const Vocabulary* vocabulary = nullptr, const std::string& otherwise = "");

}  // namespace attend::tokenizers
