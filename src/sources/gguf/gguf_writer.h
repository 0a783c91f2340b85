// Writes a GGUF file: metadata, then tensors, which are made one by one while writing.
#pragma once

#include "sources/gguf/gguf.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

class GgufWriter {
 public:
  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, std::uint32_t number);
  void add(std::string_view key, float number);
  void add(std::string_view key, bool flag);
  void add(std::string_view key, std::span<const std::string> texts);
  void add(std::string_view key, std::span<const float> numbers);
  void add(std::string_view key, std::span<const std::int32_t> numbers);
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }

  // `make` returns the bytes of `type`; the shape's last dimension is that of a row.
  using Make = std::function<std::vector<std::byte>()>;
  void add_tensor(std::string name, std::vector<std::int64_t> shape, const BlockType& type, Make make);

  // Writes the file completely or not at all.
  void write(const std::filesystem::path& path) const;

 private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    const BlockType* type;
    Make make;

    std::uint64_t bytes() const;
  };
  void begin(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType type, std::size_t count);

  std::string metadata_;
  std::uint64_t keys_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace attend
