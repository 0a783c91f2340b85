// Reads the tokenizer in a GGUF file as a tokenizer.json: byte-level BPE of GPT-2, Llama 3, Qwen and others,
// Llama's and Gemma's pieces, BERT's WordPiece and T5's Unigram.
#pragma once

#include "tokenizers/files/json_tables.h"

#include <filesystem>

namespace attend::tokenizers {

// An Error for another tokenizer.ggml.model or tokenizer.ggml.pre, which would split a text differently.
TokenizerJson read_gguf_tokenizer(const std::filesystem::path& file);

}  // namespace attend::tokenizers
