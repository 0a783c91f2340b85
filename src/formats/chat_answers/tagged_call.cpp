// Calls whose arguments are texts between tags.
#include "base/error.h"
#include "base/python_text.h"
#include "formats/chat_answers/answer_parser.h"

#include <algorithm>

namespace attend {
namespace {

// Reads from one mark to the next.
class TagReader {
 public:
  explicit TagReader(std::string_view text) : rest_(text) {}

  // Whether the mark comes, before all of `others`. Reads up to its end.
  bool find(std::string_view mark, std::initializer_list<std::string_view> others) {
    const std::size_t at = rest_.find(mark);
    if (at == rest_.npos) return false;
    for (const std::string_view other : others)
      if (!other.empty() && rest_.find(other) < at) return false;
    passed_ = rest_.substr(0, at);
    rest_.remove_prefix(at + mark.size());
    return true;
  }
  std::string_view passed() const { return passed_; }  // before that mark
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_, passed_ = {};
};

// The types that a schema allows.
void add_types(const Json& schema, std::vector<std::string>& types) {
  if (!schema.is_object()) return;
  const Json type = schema.value("type", Json());
  for (const Json& each : type.is_array() ? type : Json::array({type}))
    if (each.is_string()) types.push_back(each.get<std::string>());
  for (const char* key : {"anyOf", "oneOf", "allOf"})
    for (const Json& each : schema.value(key, Json::array())) add_types(each, types);
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

std::vector<std::string> types_of(const Json& schema) {
  std::vector<std::string> types;
  add_types(schema, types);
  return types;
}

bool takes_text(const std::vector<std::string>& types) {
  return types.empty() || std::ranges::find(types, "string") != types.end();
}

// A text without the white space around it, which the grammar allows, if only so it is one of the schema's
// values.
Json text_value(std::string_view text, const Json& schema) {
  const Json whole = std::string(text), stripped = std::string(strip(text));
  const auto allows = [&](const Json& value) {
    const Json values = schema.value("enum", Json::array());
    return std::ranges::find(values, value) != values.end() || schema.value("const", Json()) == value;
  };
  return !allows(whole) && allows(stripped) ? stripped : whole;
}

// A text is a string where the schema allows strings, unless it is another value that the schema allows.
Json argument_value(std::string_view text, const Json& schema) {
  const std::vector<std::string> types = types_of(schema);
  const std::string stripped(strip(text));
  const Json python = {{"True", true}, {"False", false}, {"None", nullptr}};
  Json value = text_value(text, schema);
  try {
    value = python.contains(stripped) ? python[stripped] : parse_json(stripped, "an argument");
  } catch (const Error&) {
    // Some templates write lists and objects as Python does, so their models do so too.
    if (takes_text(types) || !(stripped.starts_with('{') || stripped.starts_with('['))) return value;
    try {
      return python_value(stripped);
    } catch (const Error&) {
      return value;
    }
  }
  if (value.is_string()) return takes_text(types) ? text_value(text, schema) : value;
  const bool fits = types.empty() || std::ranges::any_of(types, [&](const std::string& type) {
                      return has_type(value, type);
                    });
  return fits || !takes_text(types) ? value : text_value(text, schema);
}

// Models write a line break at the beginning and the end of a value.
std::string_view without_breaks(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// <![CDATA[text]]>
std::string_view without_cdata(std::string_view text) {
  constexpr std::string_view kBegin = "<![CDATA[", kEnd = "]]>";
  if (!text.starts_with(kBegin) || !text.ends_with(kEnd)) return text;
  return text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
}

}  // namespace

std::vector<WholeCall> read_tagged_calls(std::string_view text, const TaggedArguments& tags,
                                         const Json& schemas) {
  std::vector<WholeCall> calls;
  TagReader reader(text);
  while (tags.name_open.empty() ? calls.empty() : reader.find(tags.name_open, {})) {
    // The name ends with its mark, with the first argument, or with the call.
    const std::string_view from = reader.rest();
    std::string_view name = from;
    if (tags.name_open.empty() && strip(tags.name_close).empty()) {
      name = strip(
          from.substr(0, std::min(from.find('\n', from.find_first_not_of("\n ")), from.find(tags.key_open))));
    } else {
      if (!reader.find(tags.name_close, {tags.key_open})) return {};
      name = strip(reader.passed());
    }
    if (name.empty() || name.find_first_of("<>\" \n") != name.npos) return {};
    const Json schema = schemas.value(std::string(name), Json::object());
    const Json known = schema.value("properties", Json::object());
    Json arguments = Json::object();
    while (reader.find(tags.key_open, {tags.end, tags.name_open})) {
      if (!reader.find(tags.key_close, {})) return {};
      const std::string key(strip(reader.passed()));
      if (!tags.value_open.empty() && !reader.find(tags.value_open, {tags.key_open})) return {};
      const bool is_text = reader.passed().find("string=\"true\"") != std::string_view::npos;
      if (!reader.find(tags.value_close, {})) return {};
      const std::string_view value = without_cdata(without_breaks(reader.passed()));
      Json property = known.value(key, Json::object());
      if (!property.is_object()) property = Json::object();  // true: any value
      const bool as_text = is_text && takes_text(types_of(property));
      arguments[key] = as_text ? text_value(value, property) : argument_value(value, property);
    }
    calls.push_back({std::string(name), arguments.dump()});
  }
  return calls;
}

}  // namespace attend
