// The tokenizer in a GGUF file, as the original's would be in a tokenizer.json: GPT-2's byte-level BPE,
// BERT's words in pieces and T5's unigrams.
#pragma once

#include "tokenizers/files/json_tables.h"

#include <filesystem>

namespace attend::tokenizers {

// Error for another tokenizer.ggml.model or tokenizer.ggml.pre, which would cut a text otherwise.
TokenizerJson read_gguf_tokenizer(const std::filesystem::path& file);

}  // namespace attend::tokenizers
