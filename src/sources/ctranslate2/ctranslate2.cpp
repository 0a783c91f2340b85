#include "sources/ctranslate2/ctranslate2.h"

#include "base/error.h"
#include "base/utf8.h"
#include "formats/json/json.h"
#include "formats/tensors/byte_cursor.h"
#include "sources/gguf/gguf_blocks.h"

#include <bit>
#include <cstring>
#include <utility>

namespace attend {
namespace {

constexpr std::uint32_t binary_version = 6;
constexpr std::size_t max_sizes = 4;  // of a variable
// Indexed by their numbers in the file.
constexpr DType variable_types[] = {DType::f32, DType::i8, DType::i16, DType::i32, DType::f16, DType::bf16};
// The smallest sizes. A variable has a name (its length and a zero), number of dimensions, type, bytes; an
// alias two names.
constexpr std::size_t min_variable = 9, min_alias = 6;

template <class Number>
Number element(std::span<const std::byte> data, std::size_t i) {
  Number value;
  std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

float CTranslate2Variable::at(std::size_t i) const {
  switch (type) {
    case DType::i8:
      return element<std::int8_t>(data, i);
    case DType::i16:
      return element<std::int16_t>(data, i);
    case DType::i32:
      return static_cast<float>(element<std::int32_t>(data, i));
    case DType::f16:
      return from_float16(element<std::uint16_t>(data, i));
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{element<std::uint16_t>(data, i)} << 16);
    default:
      return element<float>(data, i);
  }
}

CTranslate2::CTranslate2(std::span<const std::byte> bytes, std::string source) : source_(std::move(source)) {
  ByteCursor cursor(bytes, source_);
  const auto version = cursor.number<std::uint32_t>("the binary version");
  if (version != binary_version)
    fail(
        "{}: expected a model.bin of CTranslate2 with binary version {}, found {}; convert the original "
        "model "
        "with CTranslate2 3.0 or newer",
        source_, binary_version, version);
  spec_ = read_name(cursor, "the spec's name");
  revision_ = cursor.number<std::uint32_t>("the spec's revision");
  const auto variables = cursor.count<std::uint32_t>(min_variable, "variables");
  for (std::uint64_t i = 0; i < variables; ++i) read_variable(cursor);
  const auto aliases = cursor.count<std::uint32_t>(min_alias, "aliases");
  for (std::uint64_t i = 0; i < aliases; ++i) read_alias(cursor);
  if (cursor.left() > 0)
    fail("{}: expected the end of the file after {} variables and {} aliases, found {} more bytes", source_,
         variables, aliases, cursor.left());
}

// The length includes the zero at the end.
std::string CTranslate2::read_name(ByteCursor& cursor, std::string_view what) const {
  std::string_view text = cursor.text<std::uint16_t>(what);
  if (text.empty() || text.find('\0') != text.size() - 1)
    fail("{}: {}: expected a text with a single zero, at its end", source_, what);
  text.remove_suffix(1);
  if (find_invalid_utf8(text)) fail("{}: {} is not valid UTF-8", source_, what);
  return std::string(text);
}

void CTranslate2::read_variable(ByteCursor& cursor) {
  const std::string name = read_name(cursor, "a variable's name");
  const std::string what = "variable " + shown(Json(name));
  CTranslate2Variable variable;
  const std::size_t sizes = cursor.number<std::uint8_t>(what);
  if (sizes > max_sizes)
    fail("{}: {}: expected at most {} dimensions, found {}", source_, what, max_sizes, sizes);
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < sizes; ++i) {
    const auto size = cursor.number<std::uint32_t>(what);
    if (size == 0) fail("{}: {}: dimension {}: expected a positive number, found 0", source_, what, i);
    // Four sizes of 32 bits could overflow 64 bits, so each is checked against the rest of the file.
    if (count > cursor.left() / size)
      fail("{}: {}: cut off: its sizes ask for more numbers than the {} bytes that are left", source_, what,
           cursor.left());
    count *= size;
    variable.shape.push_back(size);
  }
  const std::size_t type = cursor.number<std::uint8_t>(what);
  if (type >= std::size(variable_types))
    fail("{}: {}: expected the number of a type, 0 to {}, found {}", source_, what,
         std::size(variable_types) - 1, type);
  variable.type = variable_types[type];
  const std::uint64_t bytes = cursor.number<std::uint32_t>(what), wanted = count * size_of(variable.type);
  if (bytes != wanted)
    fail("{}: {}: expected {} bytes for {} numbers of {}, found {}", source_, what, wanted, count,
         attend::name(variable.type), bytes);
  variable.data = cursor.take(bytes, what);
  if (!variables_.emplace(name, std::move(variable)).second) fail("{}: {} occurs twice", source_, what);
}

// An alias can only refer to earlier names, so there is no cycle.
void CTranslate2::read_alias(ByteCursor& cursor) {
  const std::string name = read_name(cursor, "an alias"), of = read_name(cursor, "the target of an alias");
  const auto add = [&](const std::string& ending) {
    const auto found = variables_.find(of + ending);
    if (found == variables_.end()) return false;
    const auto [place, is_new] = variables_.emplace(name + ending, found->second);
    if (!is_new && place->second.data.data() != found->second.data.data())
      fail("{}: alias {}: a variable or alias with this name exists already", source_,
           shown(Json(name + ending)));
    return true;
  };
  if (!add(""))
    fail("{}: alias {}: expected the name of a variable or of an alias before it, found {}", source_,
         shown(Json(name)), shown(Json(of)));
  add("_scale");  // the scale of an integer variable needs the alias too
}

const CTranslate2Variable* CTranslate2::find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

const CTranslate2Variable& CTranslate2::get(const std::string& name, std::size_t dimensions) const {
  const CTranslate2Variable* const found = find(name);
  if (found == nullptr) fail("{}: the variable {} is missing", source_, shown(Json(name)));
  if (found->shape.size() != dimensions)
    fail("{}: variable {}: expected {} dimensions, found {}", source_, shown(Json(name)), dimensions,
         found->shape.size());
  return *found;
}

bool CTranslate2::are_one(const std::string& first, const std::string& second) const {
  const CTranslate2Variable *const a = find(first), *const b = find(second);
  return a != nullptr && b != nullptr && a->data.data() == b->data.data();
}

std::optional<double> CTranslate2::number(const std::string& name) const {
  const CTranslate2Variable* const found = find(name);
  if (found == nullptr) return {};
  return get(name, 0).at(0);
}

}  // namespace attend
