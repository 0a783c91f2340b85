// JSON files and fields. Errors name the file, the field, what was expected and what came.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace attend {

using Json = nlohmann::ordered_json;  // keeps the order of fields, so that files are written back unchanged

// For several fields with one name in one object: Python's json keeps the last one, and so do we by default.
enum class Duplicates { keep_last, refuse };

// A single JSON value, nested at most 128 deep (like serde_json, so that recursive code cannot overflow the
// stack). Rejects Python's NaN and Infinity. `source` names the text in errors.
Json parse_json(std::string_view text, std::string_view source,
                Duplicates duplicates = Duplicates::keep_last);
Json read_json(const std::filesystem::path& path);

// A value for error messages: on one line, shortened.
std::string shown(const Json& value);

// The fields of one JSON object, read with type and range checks. A field may have several names (Hugging
// Face's attribute_map: n_embd and hidden_size are the same field): the first one present counts. A null
// counts as absent. `source` is the object's file. If `otherwise` is not given, an absent field is an Error.
class Fields {
 public:
  using Names = std::initializer_list<std::string_view>;

  Fields(Json object, std::string source);  // an Error if it is not an object

  bool has(Names names) const;
  // 768.0 is an integer; true is not. The limits do not apply to `otherwise`.
  std::int64_t integer(Names names, std::optional<std::int64_t> otherwise = {}, std::int64_t min = 1,
                       std::int64_t max = std::int64_t{1} << 31) const;
  double number(Names names, std::optional<double> otherwise = {},
                double min = -std::numeric_limits<double>::max(),
                double max = std::numeric_limits<double>::max()) const;
  bool flag(Names names, std::optional<bool> otherwise = {}) const;
  std::string text(Names names, std::optional<std::string> otherwise = {}) const;
  std::optional<std::int64_t> maybe_integer(Names names, std::int64_t min = 0,
                                            std::int64_t max = std::int64_t{1} << 31) const;
  std::optional<double> maybe_number(Names names) const;
  // A single value or a list (eos_token_id); empty if absent.
  std::vector<std::int64_t> integers(Names names) const;
  std::vector<std::string> texts(Names names) const;

  const Json& json() const { return object_; }
  const std::string& source() const { return source_; }

 private:
  const Json* find(Names names, std::string_view& found) const;
  [[noreturn]] void missing(Names names, std::string_view expected) const;
  [[noreturn]] void wrong(std::string_view name, std::string_view expected, const Json& value) const;

  Json object_;
  std::string source_;
};

}  // namespace attend
