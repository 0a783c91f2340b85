// Facts about a tokenizer's directory besides the tokenizer itself: the roles of tokens, and the inputs for a
// model.
#pragma once

#include <attend/tokenizer.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace attend::tokenizers {

// The id of the token with a role ("mask_token", "pad_token", "unk_token", "cls_token", "sep_token"), from
// tokenizer_config.json or special_tokens_map.json, else by its usual text. None if the tokenizer has no such
// token.
std::optional<TokenId> special_token(const Tokenizer& tokenizer, const std::filesystem::path& directory,
                                     std::string_view role);
// Whether transformers would pass token types from this tokenizer to a model: if model_input_names says so,
// else if the tokenizer's class lists them among its outputs.
bool gives_token_types(const std::filesystem::path& directory);
// Whether decoded text is cleaned up (clean_up.h): as set in the directory; the default is true for BERT's
// tokenizer without a tokenizer.json.
bool cleans_up(const std::filesystem::path& directory, bool is_json);
// The maximum number of tokens of a text, including special ones, from tokenizer_config.json; none if it has
// no limit, which transformers writes as a number like 1e30.
std::optional<std::size_t> model_max_length(const std::filesystem::path& directory);
// The side on which a text is truncated and padded, unless tokenizer.json says so.
Truncation::Direction truncation_side(const std::filesystem::path& directory);
// The directory's padding. An Error if the tokenizer has no padding token.
Padding default_padding(const Tokenizer& tokenizer, const std::filesystem::path& directory);

}  // namespace attend::tokenizers
