#include "formats/json/json.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text_lines.h"
#include "base/utf8.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attend {
namespace {

constexpr std::size_t max_depth = 128;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 28;  // the largest known tokenizer.json has 34 MB

// `text` must be valid UTF-8.
std::string shortened(std::string text, std::size_t max) {
  if (text.size() <= max) return text;
  text.resize(max);
  if (const auto cut = find_invalid_utf8(text)) text.resize(*cut);
  return text + "…";
}

// The position of byte `at` for error messages: "line 3, column 5", in characters.
std::string place(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto column = std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; });
  return fmt::format("line {}, column {}", lines + 1, column + 1);
}

// Builds a value from the parser's events. nlohmann's own builder searches every object for every new name,
// which is too slow for a vocabulary of 250,000 tokens, and it has no limit of depth.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, std::string_view source, Duplicates duplicates)
      : text_(text), source_(source), duplicates_(duplicates) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // JSON text has no binary values

  bool start_object(std::size_t) override { return open(Json::value_t::object); }
  bool key(std::string& name) override {
    open_.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    Container container = close();
    return add(object_of(container));
  }
  bool start_array(std::size_t) override { return open(Json::value_t::array); }
  bool end_array() override { return add(std::move(close().values)); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
    const std::size_t at = std::min(position > 0 ? position - 1 : 0, text_.size());
    // The format is "[json.exception.parse_error.101] parse error at line 1, column 2: the message".
    std::string message = error.what();
    message.erase(0, message.find("] ") + 2);
    if (message.starts_with("parse error")) message.erase(0, message.find(": ") + 2);
    if (is_python_number(at)) message = "NaN and Infinity are valid in Python's json, but not in JSON";
    fail("{}: not valid JSON at {}: {}", source_, place(text_, at), shortened(repair_utf8(message), 200));
  }

 private:
  struct Container {
    Json::value_t kind;
    std::vector<std::string> names;  // of an object's values
    Json::array_t values;
  };

  bool open(Json::value_t kind) {
    if (open_.size() == max_depth) fail("{}: nested deeper than {} levels", source_, max_depth);
    open_.push_back({kind, {}, {}});
    return true;
  }

  Container close() {
    Container container = std::move(open_.back());
    open_.pop_back();
    return container;
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }

  Json object_of(Container& container) const {
    Json result = Json::object();
    auto& object = result.get_ref<Json::object_t&>();
    object.reserve(container.names.size());  // so that the names are not moved
    std::unordered_map<std::string_view, std::size_t> index;
    index.reserve(container.names.size());
    for (std::size_t i = 0; i < container.names.size(); ++i) {
      object.emplace_back(std::move(container.names[i]), std::move(container.values[i]));
      const auto [known, is_new] = index.emplace(object.back().first, object.size() - 1);
      if (is_new) continue;
      if (duplicates_ == Duplicates::refuse)
        fail("{}: the name {} occurs twice in one object", source_, shown(object.back().first));
      (object.begin() + static_cast<std::ptrdiff_t>(known->second))->second = std::move(object.back().second);
      object.pop_back();
    }
    return result;
  }

  // The parser stops in the middle of the word.
  bool is_python_number(std::size_t at) const {
    const std::size_t begin = text_.substr(0, at).find_last_of(" \t\r\n,:[{");
    std::string_view word = text_.substr(begin + 1);
    if (word.starts_with('-')) word.remove_prefix(1);
    return word.starts_with("NaN") || word.starts_with("Infinity");
  }

  std::string_view text_, source_;
  Duplicates duplicates_;
  std::vector<Container> open_;
  Json root_;
};

std::string range_of(std::string_view what, auto min, auto max) {
  using Limits = std::numeric_limits<decltype(min)>;
  const bool from = min != Limits::lowest(), to = max != Limits::max();
  if (from && to) return fmt::format("{} from {} to {}", what, min, max);
  if (from) return fmt::format("{} of at least {}", what, min);
  if (to) return fmt::format("{} of at most {}", what, max);
  return std::string(what);
}

std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return {};
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return {};
  const double number = value.get<double>();
  constexpr double exact = 9007199254740992;  // 2^53: from there on a double does not identify one integer
  if (std::trunc(number) != number || std::abs(number) > exact) return {};
  return static_cast<std::int64_t>(number);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source, Duplicates duplicates) {
  Builder builder(text, source, duplicates);
  Json::sax_parse(text.begin(), text.end(), &builder);  // throws on failure
  return builder.take();
}

Json read_json(const std::filesystem::path& path) {
  const std::string text = read_file(path, max_bytes);
  return parse_json(without_byte_order_mark(text, path.string()), path.string());
}

std::string shown(const Json& value) {
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

Fields::Fields(Json object, std::string source) : object_(std::move(object)), source_(std::move(source)) {
  if (!object_.is_object()) fail("{}: expected a JSON object, found {}", source_, shown(object_));
}

bool Fields::has(Names names) const {
  std::string_view found;
  return find(names, found) != nullptr;
}

std::int64_t Fields::integer(Names names, std::optional<std::int64_t> otherwise, std::int64_t min,
                             std::int64_t max) const {
  if (const auto value = maybe_integer(names, min, max)) return *value;
  if (!otherwise) missing(names, range_of("an integer", min, max));
  return *otherwise;
}

double Fields::number(Names names, std::optional<double> otherwise, double min, double max) const {
  std::string_view name;
  const Json* value = find(names, name);
  if (value == nullptr) {
    if (!otherwise) missing(names, range_of("a number", min, max));
    return *otherwise;
  }
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= min && number <= max)) wrong(name, range_of("a number", min, max), *value);
  return number;
}

bool Fields::flag(Names names, std::optional<bool> otherwise) const {
  std::string_view name;
  const Json* value = find(names, name);
  if (value == nullptr) {
    if (!otherwise) missing(names, "true or false");
    return *otherwise;
  }
  if (!value->is_boolean()) wrong(name, "true or false", *value);
  return value->get<bool>();
}

std::string Fields::text(Names names, std::optional<std::string> otherwise) const {
  std::string_view name;
  const Json* value = find(names, name);
  if (value == nullptr) {
    if (!otherwise) missing(names, "a text");
    return *std::move(otherwise);
  }
  if (!value->is_string()) wrong(name, "a text", *value);
  return value->get<std::string>();
}

std::optional<std::int64_t> Fields::maybe_integer(Names names, std::int64_t min, std::int64_t max) const {
  std::string_view name;
  const Json* value = find(names, name);
  if (value == nullptr) return {};
  const auto integer = as_integer(*value);
  if (!integer || *integer < min || *integer > max) wrong(name, range_of("an integer", min, max), *value);
  return integer;
}

std::optional<double> Fields::maybe_number(Names names) const {
  if (!has(names)) return {};
  return number(names);
}

std::vector<std::int64_t> Fields::integers(Names names) const {
  std::string_view name;
  const Json* value = find(names, name);
  std::vector<std::int64_t> result;
  if (value == nullptr) return result;
  for (const Json& item : value->is_array() ? *value : Json::array({*value})) {
    const auto integer = as_integer(item);
    if (!integer) wrong(name, "an integer or a list of integers", *value);
    result.push_back(*integer);
  }
  return result;
}

std::vector<std::string> Fields::texts(Names names) const {
  std::string_view name;
  const Json* value = find(names, name);
  std::vector<std::string> result;
  if (value == nullptr) return result;
  for (const Json& item : value->is_array() ? *value : Json::array({*value})) {
    if (!item.is_string()) wrong(name, "a text or a list of texts", *value);
    result.push_back(item.get<std::string>());
  }
  return result;
}

const Json* Fields::find(Names names, std::string_view& found) const {
  for (const std::string_view name : names) {
    const auto field = object_.find(name);
    if (field == object_.end() || field->is_null()) continue;
    found = name;
    return &*field;
  }
  return nullptr;
}

void Fields::missing(Names names, std::string_view expected) const {
  fail("{}: {}: expected {}, found nothing", source_, fmt::join(names, " or "), expected);
}

void Fields::wrong(std::string_view name, std::string_view expected, const Json& value) const {
  fail("{}: {}: expected {}, found {}", source_, name, expected, shown(value));
}

}  // namespace attend
