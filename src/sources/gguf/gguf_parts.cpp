#include "sources/gguf/gguf_parts.h"

#include "base/error.h"

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

std::string ending_of(std::int64_t number, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number, count);
}

}  // namespace

GgufParts::GgufParts(const fs::path& path) {
  const auto open = [&](const fs::path& file) {
    MappedFile mapped(file);
    Gguf gguf(mapped.bytes(), file.string());
    parts_.push_back({std::move(mapped), std::move(gguf)});
  };
  open(path);
  const auto part_of = [](const Gguf& gguf) { return gguf.metadata().integer({"split.no"}, 0, 0); };
  const std::int64_t count = metadata().integer({"split.count"}, 1, 0);
  if (count <= 1) return;
  const std::string name = path.filename().string(), ending = ending_of(part_of(first()) + 1, count);
  if (!name.ends_with(ending))
    fail("{}: part {} of {}: expected a name that ends with {}, as llama.cpp's gguf-split names it",
         path.string(), part_of(first()) + 1, count, ending);
  const std::string begin = name.substr(0, name.size() - ending.size());
  if (part_of(first()) != 0)
    fail("{}: part {} of {}: give the first part, {}", path.string(), part_of(first()) + 1, count,
         begin + ending_of(1, count));
  for (std::int64_t number = 2; number <= count; ++number) {
    const fs::path file = path.parent_path() / (begin + ending_of(number, count));
    if (!file_exists(file))
      fail("{}: part {} of {}, {}, is missing", path.string(), number, count, file.string());
    open(file);
    if (const std::int64_t found = part_of(parts_.back().gguf); found != number - 1)
      fail("{}: split.no: expected {}, found {}", file.string(), number - 1, found);
  }
}

const GgufTensor* GgufParts::find(const std::string& name) const {
  for (const Part& part : parts_)
    if (const auto found = part.gguf.tensors().find(name); found != part.gguf.tensors().end())
      return &found->second;
  return nullptr;
}

const GgufTensor& GgufParts::tensor(const std::string& name) const {
  const GgufTensor* const found = find(name);
  if (found == nullptr) fail("{}: the tensor {} is missing", source(), name);
  return *found;
}

}  // namespace attend
