#include "formats/tensors/safetensors.h"

#include "base/error.h"
#include "base/utf8.h"
#include "formats/json/json.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are used where they lie in the file");

constexpr std::uint64_t max_header_bytes = 100'000'000;  // the reference implementation's limit
constexpr const char* metadata_key = "__metadata__";

struct Kind {
  DType type;
  std::string_view name;
  std::size_t size;
  bool floating;
};

// In the order in which the reference implementation writes them.
constexpr Kind kinds[] = {
    {DType::i64, "I64", 8, false},      {DType::f64, "F64", 8, true},   {DType::f32, "F32", 4, true},
    {DType::i32, "I32", 4, false},      {DType::bf16, "BF16", 2, true}, {DType::f16, "F16", 2, true},
    {DType::i16, "I16", 2, false},      {DType::i8, "I8", 1, false},    {DType::u8, "U8", 1, false},
    {DType::boolean, "BOOL", 1, false},
};

const Kind& kind_of(DType type) {
  return *std::ranges::find(kinds, type, &Kind::type);
}

// The size of a tensor in bytes; none if a dimension is negative or the size overflows. An empty tensor must
// not have dimensions that overflow either, because strides are computed from them.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, DType type) {
  bool empty = false;
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t size : shape) {
    if (size < 0) return {};
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return {};
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

// One entry of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
struct Entry {
  std::string name;
  DType type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;
};

Entry read_entry(const std::string& name, const Json& json, const std::string& source) {
  const Fields fields(json, fmt::format("{}: tensor {}", source, shown(name)));
  const std::string type = fields.text({"dtype"});
  const auto kind = std::ranges::find(kinds, type, &Kind::name);
  if (kind == std::end(kinds))
    fail("{}: dtype: expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL, found {}", fields.source(),
         shown(type));
  for (const char* list : {"shape", "data_offsets"})
    if (!json.contains(list) || !json[list].is_array())
      fail("{}: {}: expected a list of integers, found {}", fields.source(), list,
           json.contains(list) ? shown(json[list]) : "nothing");

  Entry entry = {name, kind->type, fields.integers({"shape"}), 0, 0};
  const auto bytes = bytes_of(entry.shape, entry.type);
  if (!bytes)
    fail("{}: shape: expected sizes of at least 0 whose product fits in 63 bits, found {}", fields.source(),
         shown(json["shape"]));

  const std::vector<std::int64_t> offsets = fields.integers({"data_offsets"});
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0])
    fail("{}: data_offsets: expected two integers, the second not smaller, found {}", fields.source(),
         shown(json["data_offsets"]));
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);
  if (entry.end - entry.begin != *bytes)
    fail("{}: expected {} bytes for {} {}, found {}", fields.source(), *bytes, type, shown(json["shape"]),
         entry.end - entry.begin);
  return entry;
}

// Checks that every byte of the data belongs to exactly one tensor.
void check_layout(std::vector<Entry>& entries, std::uint64_t data_bytes, const std::string& source) {
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end && entries.back().begin > data_bytes)
      fail("{}: tensor {}: expected its data within the {} bytes of the file, found it at {}", source,
           shown(entries.back().name), data_bytes, entries.back().begin);
    if (entry.begin != end)
      fail("{}: tensor {}: expected its data to begin at {}, where the tensor before it ends, found {}",
           source, shown(entry.name), end, entry.begin);
    end = entry.end;
  }
  if (end != data_bytes)
    fail("{}: the tensors take {} bytes, but the file has {} bytes of data{}", source, end, data_bytes,
         end > data_bytes ? ": it is cut off" : "");
}

std::map<std::string, std::string> read_metadata(const Json& json, const std::string& source) {
  const Fields fields(json, source + ": " + metadata_key);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      fail("{}: {}: expected a text, found {}", fields.source(), shown(key), shown(value));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The header's text; the file's first eight bytes are its length.
std::string_view header_of(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("version https://git-lfs"))
    fail("{}: a Git LFS pointer, not the file itself: fetch it with `git lfs pull`", source);
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    fail("{}: not a safetensors file: expected at least 8 bytes, found {}", source, bytes.size());
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > max_header_bytes)
    fail("{}: not a safetensors file: expected a header of at most {} bytes, found {}", source,
         max_header_bytes, length);
  if (length > bytes.size() - sizeof length)
    fail("{}: cut off: expected a header of {} bytes, found {}", source, length,
         bytes.size() - sizeof length);
  return text.substr(sizeof length, length);
}

}  // namespace

std::string_view name(DType type) {
  return kind_of(type).name;
}

std::size_t size_of(DType type) {
  return kind_of(type).size;
}

bool is_floating(DType type) {
  return kind_of(type).floating;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : TensorFile(path) {
  const std::string source = path.string();
  const std::string_view text = header_of(mapping().bytes(), source);
  const Json header = parse_json(text, source + ": header", Duplicates::refuse);
  if (!header.is_object()) fail("{}: header: expected a JSON object, found {}", source, shown(header));

  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == metadata_key) {
      metadata_ = read_metadata(value, source);
    } else {
      entries.push_back(read_entry(key, value, source));
    }
  }
  const auto data = mapping().bytes().subspan(sizeof(std::uint64_t) + text.size());
  check_layout(entries, data.size(), source);
  for (Entry& entry : entries)
    add(entry.name, {entry.type, std::move(entry.shape), data.subspan(entry.begin, entry.end - entry.begin)});
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string target = path.string();
  Json header = Json::object();
  auto& fields = header.get_ref<Json::object_t&>();  // emplaced without searching the object for each of many
                                                     // names
  for (const auto& [key, value] : metadata)
    if (find_invalid_utf8(key) || find_invalid_utf8(value))
      fail("{}: the metadata {}: {} is not valid UTF-8", target, shown(key), shown(value));
  if (!metadata.empty()) fields.emplace_back(metadata_key, Json(metadata));

  std::vector<const TensorView*> order;
  std::uint64_t offset = 0;
  for (const Kind& kind : kinds) {
    for (const auto& [name, tensor] : tensors) {
      if (tensor.type != kind.type) continue;
      if (name == metadata_key || find_invalid_utf8(name))
        fail("{}: a tensor cannot be named {}", target, shown(name));
      if (bytes_of(tensor.shape, tensor.type) != tensor.data.size())
        fail("{}: tensor {}: {} bytes do not match {} {}", target, shown(name), tensor.data.size(), kind.name,
             shown(Json(tensor.shape)));
      const std::uint64_t end = offset + tensor.data.size();
      fields.emplace_back(
          name, Json{{"dtype", kind.name}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}});
      order.push_back(&tensor);
      offset = end;
    }
  }

  std::string text = header.dump();
  constexpr std::size_t alignment = 8;
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  const std::uint64_t length = text.size();
  if (length > max_header_bytes)
    fail("{}: expected a header of at most {} bytes, found {}", target, max_header_bytes, length);

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const TensorView* tensor : order) file.write(tensor->data);
  file.commit();
}

}  // namespace attend
