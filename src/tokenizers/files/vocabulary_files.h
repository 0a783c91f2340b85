// Reads tokenizers of directories without a tokenizer.json: BERT's vocab.txt here, all others in files of
// their own.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"

#include <filesystem>

namespace attend::tokenizers {

// As a tokenizer.json. If none of the files exists, an Error names those that were searched for.
TokenizerJson read_vocabulary_files(const std::filesystem::path& directory, TextSide side);

// Throws Error for RoFormer's tokenizer, which is not supported, with the reason.
[[noreturn]] void refuse_dictionary(const std::filesystem::path& directory);

// BERT's tokenizer, with [CLS] A [SEP] B [SEP], as a tokenizer.json.
TokenizerJson bert_tokenizer(Vocabulary given, const TokenizerConfig& config);

// Whether the target side of a translation is tokenized differently from the source side; `path`: as for
// Tokenizer::from_file.
bool has_target_side(const std::filesystem::path& path);

}  // namespace attend::tokenizers
