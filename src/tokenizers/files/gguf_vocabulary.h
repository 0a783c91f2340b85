// Writes a tokenizer as GGUF's metadata.
#pragma once

#include "sources/gguf/gguf_writer.h"

#include <cstdint>
#include <filesystem>

namespace attend::tokenizers {

// Writes the tokenizer of a model directory, its special tokens and its chat template. `rows`: the number of
// token vectors of the model, which may be larger than the tokenizer's size. An Error if llama.cpp has no
// such tokenizer.
void write_gguf_vocabulary(const std::filesystem::path& model, std::int64_t rows, GgufWriter& writer);

}  // namespace attend::tokenizers
