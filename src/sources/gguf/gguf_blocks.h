// GGUF's tensor types: blocks of 32 or 256 small integers with their own scales, as ggml-quants.c and the
// Python package gguf (quants.py) define them.
#pragma once

#include "base/half_precision.h"
#include "formats/tensors/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attend {

struct ScaleAndStart {
  float scale, start;
};

struct BlockType {
  std::uint32_t number = 0;         // in the file
  std::string_view name;            // "Q4_K"
  std::size_t count = 1;            // numbers of a block
  std::size_t bytes = 0;            // of a block
  std::optional<DType> plain = {};  // the type for which the numbers need no decoding
  // Decodes `blocks` blocks to float32.
  void (*decode)(const std::byte* from, std::size_t blocks, float* to) = nullptr;
  // If a number is scale * integer + start: how many numbers share them, and the integers' range.
  std::size_t group = 0;  // 0: it is not
  int lowest = 0, highest = 0;
  bool has_starts = false;
  ScaleAndStart (*scale)(const std::byte* block, std::size_t group) = nullptr;
};

// Null: unknown type.
const BlockType* find_block_type(std::uint32_t number);
std::string block_type_names();  // of all types, for errors

// Decodes all blocks, on all cores; `to` has as many numbers as they hold.
void decode_blocks(const BlockType& type, std::span<const std::byte> from, std::span<float> to);

}  // namespace attend
