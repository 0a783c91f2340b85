#include "formats/tensors/pickled_tensors.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/json/json.h"
#include "formats/tensors/pickle.h"
#include "formats/tensors/safetensors.h"
#include "formats/tensors/zip_archive.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace attend {
namespace {

// The bytes of each storage.
using Storages = std::map<std::string, std::span<const std::byte>, std::less<>>;

Storages storages_of(const ZipEntries& entries, std::string_view root, std::string_view source) {
  const auto order = entries.find(fmt::format("{}byteorder", root));
  if (order != entries.end() &&
      std::string_view(reinterpret_cast<const char*>(order->second.data()), order->second.size()) != "little")
    fail("{}: its numbers are not little-endian", source);
  Storages storages;
  const std::string prefix = fmt::format("{}data/", root);
  for (const auto& [name, bytes] : entries)
    if (name.starts_with(prefix)) storages[name.substr(prefix.size())] = bytes;
  return storages;
}

// Whether every element of the tensor is inside its storage of `count` elements.
bool is_inside(const PickledTensor& tensor, std::uint64_t count) {
  if (tensor.shape.size() != tensor.strides.size() || tensor.offset < 0) return false;
  std::int64_t last = tensor.offset;
  bool empty = false;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (tensor.shape[i] < 0 || tensor.strides[i] < 0) return false;
    empty = empty || tensor.shape[i] == 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(tensor.shape[i] - 1, 0), tensor.strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return empty || static_cast<std::uint64_t>(last) < count;
}

bool is_row_major(const PickledTensor& tensor) {
  std::int64_t stride = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.shape[i];
  }
  return true;
}

// The elements of a tensor with another layout (a transposed one), in row-major order.
std::vector<std::byte> rearrange(const PickledTensor& tensor, std::span<const std::byte> storage) {
  const std::size_t size = size_of(tensor.type);
  std::vector<std::byte> result;
  std::vector<std::int64_t> index(tensor.shape.size());
  for (bool more = true; more;) {
    std::int64_t place = tensor.offset;
    for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * tensor.strides[i];
    const auto item = storage.subspan(static_cast<std::size_t>(place) * size, size);
    result.insert(result.end(), item.begin(), item.end());
    more = false;
    for (std::size_t i = index.size(); i-- > 0 && !more;) {
      more = ++index[i] < tensor.shape[i];
      if (!more) index[i] = 0;
    }
  }
  return result;
}

}  // namespace

PickledTensorFile::PickledTensorFile(const std::filesystem::path& path) : TensorFile(path) {
  const std::string source = path.string();
  std::span<const std::byte> bytes = mapping().bytes();
  Pickle pickle;
  Storages storages;
  if (is_zip_archive(bytes)) {
    const ZipEntries entries = read_zip_archive(bytes, source);
    const auto program = std::ranges::find_if(
        entries, [](const auto& entry) { return ("/" + entry.first).ends_with("/data.pkl"); });
    if (program == entries.end()) fail("{}: the archive has no data.pkl", source);
    const std::string_view root = std::string_view(program->first).substr(0, program->first.size() - 8);
    pickle = read_pickle(program->second, source);
    storages = storages_of(entries, root, source);
  } else {  // a magic number, a version, the system, the tensors, the keys; then each key's count and numbers
    const auto next = [&] {
      Pickle read = read_pickle(bytes, source);
      bytes = bytes.subspan(read.size);
      return read;
    };
    for (int i = 0; i < 3; ++i) next();
    pickle = next();
    for (const std::string& key : next().keys) {
      constexpr std::size_t count = sizeof(std::uint64_t);
      const auto [type, numbers] = pickle.storages[key];
      if (bytes.size() < count || numbers > (bytes.size() - count) / size_of(type))
        fail("{}: the file ends too early", source);
      const std::uint64_t size = numbers * size_of(type);
      storages[key] = bytes.subspan(count, size);
      bytes = bytes.subspan(count + size);
    }
  }
  std::uint64_t copied = 0;
  for (const auto& [name, tensor] : pickle.tensors) {
    const auto storage = storages.find(tensor.storage);
    const std::size_t size = size_of(tensor.type);
    if (storage == storages.end() || !is_inside(tensor, storage->second.size() / size))
      fail("{}: tensor {} is not inside the file's data", source, shown(Json(name)));
    std::uint64_t count = 1;
    for (const std::int64_t n : tensor.shape) {
      if (!__builtin_mul_overflow(count, static_cast<std::uint64_t>(n), &count)) continue;
      count = std::numeric_limits<std::int64_t>::max();
      break;
    }
    if (count == 0 || is_row_major(tensor)) {
      add(name, {tensor.type, tensor.shape,
                 storage->second.subspan(count == 0 ? 0 : static_cast<std::size_t>(tensor.offset) * size,
                                         count * size)});
      continue;
    }
    // One number that is repeated (stride 0) could make a small file large.
    if (count > mapping().bytes().size() || (copied += count * size) > mapping().bytes().size())
      fail("{}: tensor {} is larger than its storage", source, shown(Json(name)));
    add(name, tensor.type, tensor.shape, rearrange(tensor, storage->second));
  }
}

TensorFile open_tensor_file(const std::filesystem::path& path) {
  if (path.extension() == ".bin") return PickledTensorFile(path);
  return SafetensorsFile(path);
}

std::map<std::string, std::vector<std::string>> read_pickled_lists(const std::filesystem::path& path) {
  const MappedFile file(path);
  std::span<const std::byte> bytes = file.bytes();
  const std::string source = path.string();
  if (!is_zip_archive(bytes)) {
    // Older versions of torch.save wrote a magic number, a version and the system first.
    constexpr std::byte number{0x8a};
    if (bytes.size() > 2 && bytes[2] == number)
      for (int i = 0; i < 3; ++i) bytes = bytes.subspan(read_pickle(bytes, source).size);
    return read_pickled_lists(bytes, source);
  }
  const ZipEntries entries = read_zip_archive(bytes, source);
  for (const auto& [name, program] : entries)
    if (("/" + name).ends_with("/data.pkl")) return read_pickled_lists(program, source);
  fail("{}: the archive has no data.pkl", source);
}

}  // namespace attend
