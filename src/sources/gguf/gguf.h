// GGUF, llama.cpp's file format for a whole model: metadata by key, then tensors, mostly in quantized blocks.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include "formats/json/json.h"
#include "sources/gguf/gguf_blocks.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The numbers of types in the file format.
enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  text = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12
};

struct GgufTensor {
  const BlockType* type = nullptr;
  std::vector<std::int64_t> shape;  // outermost first, as everywhere; reversed in the file
  std::span<const std::byte> data;
};

// The contents of a file, as views of its bytes. Everything is checked while it is read: lengths and counts
// against the rest of the file, types, unique keys and names, and that tensors are contiguous and inside the
// file.
class Gguf {
 public:
  // `source` names the file in errors.
  Gguf(std::span<const std::byte> bytes, std::string source);

  // All values except arrays, by their keys ("gpt2.block_count").
  const Fields& metadata() const { return metadata_; }
  const std::map<std::string, GgufTensor>& tensors() const { return tensors_; }
  const std::string& source() const { return metadata_.source(); }

  bool has_array(const std::string& key) const { return arrays_.contains(key); }
  // Arrays; an Error if the key does not exist or has another type. Texts are UTF-8.
  std::vector<std::string_view> texts(const std::string& key) const;
  std::vector<float> numbers(const std::string& key) const;
  std::vector<std::int64_t> integers(const std::string& key) const;
  std::string bytes(const std::string& key) const;

 private:
  struct Array {
    GgufType type;
    std::uint64_t count;
    std::span<const std::byte> data;
  };
  const Array& array(const std::string& key, std::string_view expected) const;

  Fields metadata_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, GgufTensor> tensors_;
};

// Whether it is a regular file that is named *.gguf or begins with the format's four letters.
bool is_gguf(const std::filesystem::path& path);

}  // namespace attend
