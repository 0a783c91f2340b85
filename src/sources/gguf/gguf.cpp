#include "sources/gguf/gguf.h"

#include "base/error.h"
#include "base/utf8.h"
#include "formats/tensors/byte_cursor.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

constexpr std::string_view letters = "GGUF";
constexpr std::size_t max_dimensions = 4;

std::string shown_name(std::string_view name) {
  return shown(Json(std::string(name)));
}

std::string utf8(std::string_view text, const std::string& source, std::string_view what) {
  if (find_invalid_utf8(text)) fail("{}: {} is not valid UTF-8", source, what);
  return std::string(text);
}

// The size of one value in bytes; none for texts and arrays.
std::optional<std::size_t> width_of(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    default:
      return {};
  }
}

template <class Number>
Number value_at(const std::byte* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A value of a type that is neither text nor array.
Json value_of(GgufType type, const std::byte* from) {
  switch (type) {
    case GgufType::u8:
      return value_at<std::uint8_t>(from);
    case GgufType::i8:
      return value_at<std::int8_t>(from);
    case GgufType::boolean:
      return value_at<std::uint8_t>(from) != 0;
    case GgufType::u16:
      return value_at<std::uint16_t>(from);
    case GgufType::i16:
      return value_at<std::int16_t>(from);
    case GgufType::u32:
      return value_at<std::uint32_t>(from);
    case GgufType::i32:
      return value_at<std::int32_t>(from);
    case GgufType::f32:
      return static_cast<double>(value_at<float>(from));
    case GgufType::u64:
      return value_at<std::uint64_t>(from);
    case GgufType::i64:
      return value_at<std::int64_t>(from);
    default:
      return value_at<double>(from);
  }
}

GgufType read_type(ByteCursor& cursor, const std::string& source, const std::string& what) {
  const auto number = cursor.number<std::uint32_t>(what);
  if (number > static_cast<std::uint32_t>(GgufType::f64))
    fail("{}: {}: expected the number of a type, 0 to 12, found {}", source, what, number);
  return static_cast<GgufType>(number);
}

void read_begin(ByteCursor& cursor, const std::string& source) {
  const auto begin = cursor.take(std::min(cursor.left(), letters.size()), "the format's name");
  if (std::string_view(reinterpret_cast<const char*>(begin.data()), begin.size()) != letters)
    fail("{}: not a GGUF file: it does not begin with the letters GGUF", source);
  const auto version = cursor.number<std::uint32_t>("the version");
  if (version != 2 && version != 3)
    fail("{}: expected GGUF version 2 or 3 in this machine's byte order, found {}", source, version);
}

// The number of elements of a tensor; none if their bytes do not fit 63 bits.
std::optional<std::uint64_t> count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return {};
  constexpr std::int64_t widest = 8;
  if (count > std::numeric_limits<std::int64_t>::max() / widest) return {};
  return static_cast<std::uint64_t>(count);
}

// The position of a tensor, relative to the first.
struct Place {
  std::uint64_t offset = 0, bytes = 0;
};

Place read_tensor(ByteCursor& cursor, const std::string& source, const std::string& what,
                  GgufTensor& tensor) {
  const auto dimensions = cursor.number<std::uint32_t>(what);
  if (dimensions == 0 || dimensions > max_dimensions)
    fail("{}: {}: expected 1 to {} dimensions, found {}", source, what, max_dimensions, dimensions);
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.number<std::uint64_t>(what);
    if (size == 0 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail("{}: {}: dimension {}: expected a positive number of 63 bits, found {}", source, what, i, size);
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
  }
  const auto number = cursor.number<std::uint32_t>(what);
  tensor.type = find_block_type(number);
  if (tensor.type == nullptr)
    fail("{}: {}: its type, number {}, is not supported; expected one of {}", source, what, number,
         block_type_names());
  const auto count = count_of(tensor.shape);
  if (!count) fail("{}: {}: expected a size whose bytes fit into 63 bits", source, what);
  if (static_cast<std::uint64_t>(tensor.shape.back()) % tensor.type->count != 0)
    fail("{}: {}: expected rows of a multiple of {} numbers for {}, found {}", source, what,
         tensor.type->count, tensor.type->name, tensor.shape.back());
  return {cursor.number<std::uint64_t>(what), *count / tensor.type->count * tensor.type->bytes};
}

}  // namespace

Gguf::Gguf(std::span<const std::byte> bytes, std::string source) : metadata_(Json::object(), source) {
  ByteCursor cursor(bytes, source);
  read_begin(cursor, source);
  const auto tensor_count = cursor.count<std::uint64_t>(24, "tensors"),
             key_count = cursor.count<std::uint64_t>(13, "keys");

  Json fields = Json::object();
  auto& members = fields.get_ref<Json::object_t&>();  // emplaced without searching the object for each name
  std::map<std::string, bool> keys;
  for (std::uint64_t i = 0; i < key_count; ++i) {
    const std::string key = utf8(cursor.text<std::uint64_t>("a key"), source, "a key");
    const std::string what = "key " + shown_name(key);
    if (!keys.emplace(key, true).second) fail("{}: {} occurs twice", source, what);
    const GgufType type = read_type(cursor, source, what);
    if (type == GgufType::text) {
      members.emplace_back(key, utf8(cursor.text<std::uint64_t>(what), source, what));
    } else if (type == GgufType::array) {
      Array array = {read_type(cursor, source, what), 0, {}};
      if (array.type == GgufType::array) fail("{}: {}: arrays of arrays are not supported", source, what);
      const auto size = width_of(array.type);
      array.count = cursor.count<std::uint64_t>(size.value_or(sizeof(std::uint64_t)), "values of " + what);
      if (size) {
        array.data = cursor.take(array.count * *size, what);
      } else {
        const std::size_t begin = cursor.at();
        for (std::uint64_t j = 0; j < array.count; ++j) cursor.text<std::uint64_t>(what);
        array.data = bytes.subspan(begin, cursor.at() - begin);
      }
      arrays_.emplace(key, array);
    } else {
      members.emplace_back(key, value_of(type, cursor.take(*width_of(type), what).data()));
    }
  }
  metadata_ = Fields(std::move(fields), source);

  const auto alignment =
      static_cast<std::uint64_t>(metadata_.integer({"general.alignment"}, 32, 1, std::int64_t{1} << 20));
  if ((alignment & (alignment - 1)) != 0)
    fail("{}: general.alignment: expected a power of two, found {}", source, alignment);
  const auto padded = [&](std::uint64_t at) { return (at + alignment - 1) / alignment * alignment; };
  std::vector<std::pair<std::string, Place>> places;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    const std::string name = utf8(cursor.text<std::uint64_t>("a tensor's name"), source, "a tensor's name");
    const std::string what = "tensor " + shown_name(name);
    GgufTensor tensor;
    const Place place = read_tensor(cursor, source, what, tensor);
    if (!tensors_.emplace(name, std::move(tensor)).second) fail("{}: {} occurs twice", source, what);
    places.emplace_back(name, place);
  }

  const std::uint64_t begin = std::min<std::uint64_t>(padded(cursor.at()), bytes.size());
  const auto data = bytes.subspan(static_cast<std::size_t>(begin));
  std::uint64_t end = 0;
  for (const auto& [name, place] : places) {
    if (place.offset != end)
      fail("{}: tensor {}: expected its data to begin at {}, after the tensor before it, found {}", source,
           shown_name(name), end, place.offset);
    if (place.offset > data.size() || place.bytes > data.size() - place.offset)
      fail("{}: tensor {}: cut off: expected {} bytes at {}, but there are {} bytes of data", source,
           shown_name(name), place.bytes, place.offset, data.size());
    tensors_.at(name).data =
        data.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.bytes));
    end = padded(place.offset + place.bytes);
  }
}

const Gguf::Array& Gguf::array(const std::string& key, std::string_view expected) const {
  const auto found = arrays_.find(key);
  if (found == arrays_.end()) fail("{}: {}: expected an array of {}, found none", source(), key, expected);
  return found->second;
}

std::vector<std::string_view> Gguf::texts(const std::string& key) const {
  const Array& array = this->array(key, "texts");
  if (array.type != GgufType::text) fail("{}: {}: expected an array of texts", source(), key);
  ByteCursor cursor(array.data, source());
  std::vector<std::string_view> texts;
  texts.reserve(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    texts.push_back(cursor.text<std::uint64_t>(key));
    if (find_invalid_utf8(texts.back())) fail("{}: {}: text {} is not valid UTF-8", source(), key, i);
  }
  return texts;
}

std::vector<float> Gguf::numbers(const std::string& key) const {
  const Array& array = this->array(key, "numbers");
  if (array.type != GgufType::f32) fail("{}: {}: expected an array of float32", source(), key);
  std::vector<float> numbers(array.count);
  if (!numbers.empty()) std::memcpy(numbers.data(), array.data.data(), array.data.size());
  return numbers;
}

std::vector<std::int64_t> Gguf::integers(const std::string& key) const {
  const Array& array = this->array(key, "integers");
  const auto size = width_of(array.type);
  if (!size || array.type == GgufType::f32 || array.type == GgufType::f64)
    fail("{}: {}: expected an array of integers", source(), key);
  std::vector<std::int64_t> integers;
  integers.reserve(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    const Json value = value_of(array.type, array.data.data() + i * *size);
    integers.push_back(value.is_boolean() ? value.get<bool>() : value.get<std::int64_t>());
  }
  return integers;
}

std::string Gguf::bytes(const std::string& key) const {
  const Array& array = this->array(key, "bytes");
  if (width_of(array.type) != 1) fail("{}: {}: expected an array of bytes", source(), key);
  return {reinterpret_cast<const char*>(array.data.data()), array.data.size()};
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (path.extension() == ".gguf") return true;
  char begin[letters.size()] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == letters;
}

}  // namespace attend
