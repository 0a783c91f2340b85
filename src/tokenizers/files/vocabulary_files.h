// Tokenizers of directories without a tokenizer.json: BERT's vocab.txt; all others have files of their own
// here.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"

#include <filesystem>

namespace attend::tokenizers {

// As tokenizer.json would say it. Error that names what was looked for if there is none of these files.
TokenizerJson read_vocabulary_files(const std::filesystem::path& directory, TextSide side);

// RoFormer's tokenizer cannot be read: an Error that says why.
[[noreturn]] void refuse_dictionary(const std::filesystem::path& directory);

// BERT's words in pieces, [CLS] A [SEP] B [SEP], as tokenizer.json would say it.
TokenizerJson bert_tokenizer(Vocabulary given, const TokenizerConfig& config);

// Whether the target side of a translation is read otherwise than the source side; `path` is what
// Tokenizer::from_file takes.
bool has_target_side(const std::filesystem::path& path);

}  // namespace attend::tokenizers
