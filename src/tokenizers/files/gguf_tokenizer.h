// The tokenizer in a GGUF file, as the original's would be in a tokenizer.json: byte-level BPE with the words
// of GPT-2, Llama 3, Qwen and others, Llama's and Gemma's pieces, BERT's words in pieces and T5's unigrams.
#pragma once

#include "tokenizers/files/json_tables.h"

#include <filesystem>

namespace attend::tokenizers {

// Error for another tokenizer.ggml.model or tokenizer.ggml.pre, which would cut a text otherwise.
TokenizerJson read_gguf_tokenizer(const std::filesystem::path& file);

}  // namespace attend::tokenizers
