// Encodes numbers in GGUF's blocks, like llama.cpp's own program and the Python package gguf.
#pragma once

#include "formats/gguf_blocks.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace attend {

// The supported types: F32, F16, Q8_0, Q4_0; null: another type.
const BlockType* find_encoded_type(std::string_view name);

// An Error unless the numbers fill whole blocks.
std::vector<std::byte> encode_blocks(const BlockType& type, std::span<const float> from);

// The nearest float16; infinite beyond its range.
std::uint16_t to_float16(float number);

}  // namespace attend
