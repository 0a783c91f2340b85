#include "formats/tensors/npy.h"

#include "base/error.h"
#include "formats/json/json.h"

#include <charconv>
#include <cstring>
#include <regex>

#include <fmt/format.h>

namespace attend {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data in the file
constexpr std::uint32_t kMaxHeader = 1 << 16;

struct NpyHeader {
  std::string_view text;
  std::size_t end;  // where the data begins
};

// The magic, the version (1.0: the length has 2 bytes; later ones: 4), the length of the text, the text.
NpyHeader npy_header(std::string_view file, const std::string& source) {
  if (!file.starts_with(kMagic) || file.size() < 12)
    fail("{}: expected a file of NumPy, which begins with \\x93NUMPY", source);
  const int version = file[6];
  if (version < 1 || version > 3) fail("{}: expected NumPy's format 1, 2 or 3, found {}", source, version);
  const std::size_t begin = version == 1 ? 10 : 12;
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, begin - 8);
  if (length > kMaxHeader)
    fail("{}: expected a header of at most {} bytes, found {}", source, kMaxHeader, length);
  if (begin + length > file.size())
    fail("{}: cut off: expected a header of {} bytes, found {}", source, length, file.size() - begin);
  return {file.substr(begin, length), begin + length};
}

// The first group of a pattern in the header; an Error that says what was expected.
std::string find_field(const NpyHeader& header, const char* pattern, const char* expected,
                       const std::string& source) {
  const std::string text(header.text);
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern)))
    fail("{}: expected {}, found the header {}", source, expected, shown(Json(text.substr(0, 200))));
  return found[1];
}

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path) : TensorFile(path) {
  const std::string source = path.string();
  const auto bytes = mapping().bytes();
  const NpyHeader header = npy_header({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, source);
  const std::string type = find_field(header, "'descr': *'([^']*)'", "numbers of one type", source);
  if (type != "<f4" && type != "|u1")
    fail("{}: expected float32 numbers (<f4) or bits in bytes (|u1), found {}: convert them with astype()",
         source, shown(Json(type)));
  if (find_field(header, "'fortran_order': *(True|False)", "fortran_order", source) == "True")
    fail("{}: expected rows one after another, found Fortran's order: save numpy.ascontiguousarray() of it",
         source);
  const char* const table = "a table, (rows, columns)";
  std::vector<std::int64_t> shape;
  std::uint64_t size = type == "<f4" ? 4 : 1;
  for (const char* pattern :
       {R"('shape': *\(([0-9]+), *[0-9]+,? *\))", R"('shape': *\([0-9]+, *([0-9]+),? *\))"}) {
    const std::string text = find_field(header, pattern, table, source);
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || __builtin_mul_overflow(size, static_cast<std::uint64_t>(count), &size))
      fail("{}: expected {}, found a size of {}", source, table, text);
    shape.push_back(count);
  }
  const auto data = bytes.subspan(header.end);
  if (data.size() != size)
    fail("{}: expected {} bytes for {} x {} numbers, found {}{}", source, size, shape[0], shape[1],
         data.size(), data.size() < size ? ": it is cut off" : "");
  add("vectors", {type == "<f4" ? DType::f32 : DType::u8, std::move(shape), data});
}

void write_npy(const std::filesystem::path& path, const TensorView& table) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  table.type == DType::f32 ? "<f4" : "|u1", table.shape.at(0), table.shape.at(1));
  constexpr std::size_t before = 10;  // magic, version, length
  const std::size_t end = (before + header.size() + kAlignment) / kAlignment * kAlignment;
  header.resize(end - before - 1, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  AtomicFile file(path);
  file.write(kMagic);
  file.write(std::string_view("\x01\x00", 2));
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  file.write(table.data);
  file.commit();
}

}  // namespace attend
