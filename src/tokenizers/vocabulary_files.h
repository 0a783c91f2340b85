// Tokenizers of directories without a tokenizer.json: BERT's vocab.txt, GPT-2's vocab.json and merges.txt.
#pragma once

#include "tokenizers/json_tables.h"

#include <filesystem>

namespace attend::tokenizers {

// As tokenizer.json would say it. Error that names what was looked for if there is none of these files.
TokenizerJson read_vocabulary_files(const std::filesystem::path& directory);

}  // namespace attend::tokenizers
