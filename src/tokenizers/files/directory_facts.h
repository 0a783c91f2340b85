// What a tokenizer's directory says beside the tokenizer itself: which tokens have which role, and what it
// gives a model.
#pragma once

#include <attend/tokenizer.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace attend::tokenizers {

// The id of the token of a role ("mask_token", "pad_token", "unk_token", "cls_token", "sep_token"), as
// tokenizer_config.json or special_tokens_map.json has it, else as it is usually called. Nothing if the
// tokenizer has none.
std::optional<TokenId> special_token(const Tokenizer& tokenizer, const std::filesystem::path& directory,
                                     std::string_view role);
// Whether transformers would give a model token types made by this tokenizer: where model_input_names says
// so, else where the tokenizer's class lists them among its outputs.
bool gives_token_types(const std::filesystem::path& directory);
// Whether decoded text is cleaned up (clean_up.h): where the directory says so, and usually where BERT's
// tokenizer is not in a tokenizer.json.
bool cleans_up(const std::filesystem::path& directory, bool is_json);
// How many tokens a text may have, special ones too, as tokenizer_config.json says; nothing where it sets no
// limit, which transformers writes as a number like 1e30.
std::optional<std::size_t> model_max_length(const std::filesystem::path& directory);
// On which side a text is cut, and padded, unless tokenizer.json says so.
Truncation::Direction truncation_side(const std::filesystem::path& directory);
// As the directory says. Error where the tokenizer has no padding token.
Padding default_padding(const Tokenizer& tokenizer, const std::filesystem::path& directory);

}  // namespace attend::tokenizers
