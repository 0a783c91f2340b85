// safetensors, Hugging Face's tensor file: a u64 header length, a JSON header, the data.
// https://github.com/huggingface/safetensors (README, "Format"). Read through a mapping, nothing is copied.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::string_view name(DType type);  // as in the file: "F32", "BF16", "BOOL", ...
std::size_t size_of(DType type);    // bytes of one element
bool is_floating(DType type);

// A tensor in memory that somebody else keeps: here, a mapped file.
struct TensorView {
  DType type;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // row-major, little-endian; not necessarily aligned

  std::uint64_t count() const { return data.size() / size_of(type); }  // of elements
};

// One file. The header is checked in full when it is opened: length, JSON, names that come once, known types,
// offsets in bounds, without holes or overlaps, sizes that equal shape times type. The views live as long as
// a copy of the file object.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_.path(); }
  const MappedFile& mapping() const { return file_; }

 private:
  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes through a temporary file and a rename; the bytes are those the reference implementation writes: the
// data begins at a multiple of 8, the widest types first, then by name. transformers wants {"format": "pt"}
// in the metadata of a model.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace attend
