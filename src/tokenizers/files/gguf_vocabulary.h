// A tokenizer as GGUF's metadata.
#pragma once

#include "formats/gguf_writer.h"

#include <cstdint>
#include <filesystem>

namespace attend::tokenizers {

// The tokenizer of a model directory, its special tokens and the template of a chat. `rows`: tokens of the
// model, which may be more than the tokenizer's. Error if llama.cpp has no such tokenizer.
void write_gguf_vocabulary(const std::filesystem::path& model, std::int64_t rows, GgufWriter& writer);

}  // namespace attend::tokenizers
