// Reads directories with vocab.json and merges.txt instead of a tokenizer.json: GPT-2's byte-level BPE with
// the special tokens of several families, and the BPE over characters of GPT, CTRL and XLM.
#pragma once

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"

#include <filesystem>

namespace attend::tokenizers {

TokenizerJson read_bpe_files(const std::filesystem::path& directory);

// ByT5's bytes, which need no file.
TokenizerJson read_byt5(const std::filesystem::path& directory, const TokenizerConfig& config);

// A post-processor that only moves offsets. The library tokenizers reads none without all of these fields.
Json byte_level_offsets();

// GPT-2's byte-level BPE as in a tokenizer.json; `tables` include the merges.
TokenizerJson byte_level_bpe(ModelTables tables, const Json& added_tokens, Json post_processor,
                             bool add_prefix_space);

}  // namespace attend::tokenizers
