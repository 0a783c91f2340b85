// A file of named tensors, which is mapped and not copied.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::string_view name(DType type);  // as in the file: "F32", "BF16", "BOOL", ...
std::size_t size_of(DType type);    // bytes of one element
bool is_floating(DType type);

// The groups of an encoding in which a number is scale * integer + start, with a scale and a start for `size`
// numbers of a row.
struct TensorGroups {
  std::size_t size = 32;
  int lowest = 0, highest = 0;  // integers
  bool has_starts = false;
  // Writes those of all groups, row by row; `starts` is empty if there are none.
  std::function<void(std::span<float> scales, std::span<float> starts)> read;
};

// An encoding that is none of the types above: integers of a few bits, with scales.
struct TensorCode {
  std::string name;                                 // "Q4_K"
  std::function<void(std::span<float> to)> decode;  // writes all numbers of the tensor
  std::optional<TensorGroups> groups = {};
};

// A tensor in memory with another owner: here, a mapped file.
struct TensorView {
  DType type;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // row-major, little-endian; not necessarily aligned
  // If there is a code, it decodes `data`, and `type`, float32, is the result.
  std::shared_ptr<const TensorCode> code = {};
  // A matrix stored column by column (GGUF stores GPT-2's transposed).
  bool transposed = false;

  std::uint64_t count() const {  // number of elements
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
    return count;
  }
  std::string_view stored_as() const { return code ? std::string_view(code->name) : name(type); }
};

// What all kinds of tensor files share. The views are valid as long as a copy of the file object or of its
// owner() exists.
class TensorFile {
 public:
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::filesystem::path& path() const { return mapping().path(); }
  const MappedFile& mapping() const { return contents_->file; }
  std::shared_ptr<const void> owner() const { return contents_; }

 protected:
  explicit TensorFile(const std::filesystem::path& path) : contents_(std::make_shared<Contents>(path)) {}
  // False if the name exists already.
  bool add(const std::string& name, const TensorView& view) { return tensors_.emplace(name, view).second; }
  // For a tensor whose bytes in the file cannot be used as a view.
  bool add(const std::string& name, DType type, const std::vector<std::int64_t>& shape,
           std::vector<std::byte> data) {
    const auto& kept = contents_->copies.emplace_back(std::move(data));
    return add(name, {type, shape, kept});
  }

 private:
  struct Contents {
    explicit Contents(const std::filesystem::path& path) : file(path) {}
    MappedFile file;
    std::list<std::vector<std::byte>> copies;
  };
  std::shared_ptr<Contents> contents_;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace attend
