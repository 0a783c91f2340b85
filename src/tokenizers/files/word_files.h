// Reads Transformer-XL's directories: a list of whole words, in vocab.txt or vocab.json.
#pragma once

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"

#include <filesystem>

namespace attend::tokenizers {

bool reads_words(const TokenizerConfig& config);
TokenizerJson read_word_files(const std::filesystem::path& directory, const TokenizerConfig& config);

}  // namespace attend::tokenizers
