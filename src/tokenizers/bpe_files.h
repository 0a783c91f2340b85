// Directories with vocab.json and merges.txt instead of a tokenizer.json: GPT-2's byte-level BPE and what
// adds special tokens to it, and the BPE over characters of GPT, CTRL and XLM.
#pragma once

#include "tokenizers/json_tables.h"

#include <filesystem>

namespace attend::tokenizers {

TokenizerJson read_bpe_files(const std::filesystem::path& directory);

}  // namespace attend::tokenizers
