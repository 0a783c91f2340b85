// Encodes numbers in GGUF's blocks. F16, Q8_0, Q4_0 and Q5_0 have the same bits as from llama.cpp's own
// program and the Python package gguf; for Q4_K and Q6_K see gguf_encode_k.h.
#pragma once

#include "sources/gguf/gguf_blocks.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace attend {

// The supported types: F32, F16, Q8_0, Q4_0, Q5_0, Q4_K, Q6_K; null: another type.
const BlockType* find_encoded_type(std::string_view name);

// An Error unless the numbers fill whole blocks.
std::vector<std::byte> encode_blocks(const BlockType& type, std::span<const float> from);

// As to_float16 (base/half_precision.h).
void put_float16(float number, std::byte* to);

}  // namespace attend
