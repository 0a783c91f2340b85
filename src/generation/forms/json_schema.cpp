#include "generation/forms/json_schema.h"

#include "base/error.h"
#include "formats/json/json.h"

#include <optional>

namespace attend {
namespace {

constexpr std::string_view kUnknown[] = {
    "not",          "if",         "then",        "else",     "dependentRequired", "dependentSchemas",
    "dependencies", "multipleOf", "uniqueItems", "contains", "minContains",       "maxContains",
    "$dynamicRef"};
// Keywords whose values are schemas, lists of schemas, and schemas by name.
constexpr std::string_view kSchemas[] = {"additionalProperties", "unevaluatedProperties",
                                         "propertyNames",        "items",
                                         "unevaluatedItems",     "additionalItems"};
constexpr std::string_view kLists[] = {"prefixItems", "anyOf", "oneOf", "allOf"};
constexpr std::string_view kByName[] = {"properties", "$defs", "definitions"};

// In a class of a regular expression: the characters that JSON must escape. No digit may follow \x1f, because
// XGrammar would read it as part of the number.
constexpr std::string_view kEscaped = R"(\x00-\x1f"\\)";

// Rewrites a pattern so that it matches the same strings except those with characters of kEscaped.
class Pattern {
 public:
  static std::string without_escaped(const std::string& pattern) { return Pattern(pattern).rewrite(); }

 private:
  explicit Pattern(const std::string& pattern) : pattern_(pattern) {}

  std::string rewrite() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_++];
      if (c == '\\')
        copy_escape();
      else if (c == '"')
        refuse("a quotation mark");
      else if (in_class_)
        copy_in_class(c);
      else if (c == '[')
        begin_class();
      else if (c == '.')
        result_ += fmt::format("[^{}]", kEscaped);
      else
        result_ += c;
    }
    return result_;
  }

  void copy_escape() {
    if (at_ == pattern_.size()) return void(result_ += '\\');  // XGrammar reports the error
    const char c = pattern_[at_++];
    if (std::string_view("\\nrtfv0xuc").find(c) != std::string_view::npos)
      refuse(fmt::format("\\{}", c));
    else if (c == 's')
      result_ += ' ';
    else if (c == 'S' || c == 'D' || c == 'W')
      copy_complement(c);
    else
      (result_ += '\\') += c;
    last_ = {};
  }

  void copy_complement(char c) {
    if (in_class_) refuse(fmt::format("\\{} in a class", c));
    result_ += fmt::format("[^{}{}]", c == 'S' ? " " : c == 'D' ? "0-9" : "a-zA-Z0-9_", kEscaped);
  }

  void begin_class() {
    in_class_ = true;
    last_ = {};
    result_ += '[';
    if (at_ == pattern_.size() || pattern_[at_] != '^') return;
    ++at_;
    ((result_ += '^') += kEscaped);
  }

  void copy_in_class(char c) {
    result_ += c;
    if (c == ']') {
      in_class_ = false;
    } else if (c == '-' && last_ && at_ < pattern_.size() && pattern_[at_] != ']') {
      for (const char inside : {'"', '\\'})
        if (*last_ < inside && inside < pattern_[at_])
          refuse(fmt::format("{}-{}, with {} in it", *last_, pattern_[at_], inside));
    }
    last_ = c;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail("pattern {}: texts can be kept to patterns without characters that JSON escapes, found {}",
         shown(Json(pattern_)), what);
  }

  const std::string& pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::optional<char> last_;  // in a class: the possible start of a range
  std::string result_;
};

void rewrite_length(Json& schema) {
  if (!schema.contains("minLength") && !schema.contains("maxLength")) return;
  for (const char* other : {"pattern", "format"})
    if (schema.contains(other))
      fail("texts cannot be kept to a length and a {} at once; leave out one of them", other);
  const Fields fields(schema, "the schema");
  const std::int64_t min = fields.integer({"minLength"}, 0, 0);
  const std::optional<std::int64_t> max = fields.maybe_integer({"maxLength"}, min);
  schema.erase("minLength");
  schema.erase("maxLength");
  schema["pattern"] =
      fmt::format("^[^{}]{{{},{}}}$", kEscaped, min, max ? std::to_string(*max) : std::string());
}

// XGrammar rejects JSON that is not a schema. The JSON reader has limited the depth.
void rewrite(Json& schema) {
  if (!schema.is_object()) return;
  for (const std::string_view keyword : kUnknown)
    if (schema.contains(keyword)) fail("texts cannot be kept to {}; leave it out of the schema", keyword);
  if (const auto all = schema.find("allOf"); all != schema.end() && all->is_array() && all->size() > 1)
    fail("texts cannot be kept to allOf with several schemas; make them one");
  if (const auto to = schema.find("$ref"); to != schema.end() && to->is_string())
    if (!to->get<std::string>().starts_with('#'))
      fail("$ref: expected a place in the schema itself (#/$defs/...), found {}", shown(*to));
  if (const auto pattern = schema.find("pattern"); pattern != schema.end() && pattern->is_string())
    *pattern = Pattern::without_escaped(pattern->get<std::string>());
  rewrite_length(schema);
  for (const std::string_view keyword : kSchemas)
    if (const auto part = schema.find(keyword); part != schema.end()) rewrite(*part);
  for (const std::string_view keyword : kLists)
    if (const auto parts = schema.find(keyword); parts != schema.end() && parts->is_array())
      for (Json& part : *parts) rewrite(part);
  for (const std::string_view keyword : kByName)
    if (const auto parts = schema.find(keyword); parts != schema.end() && parts->is_object())
      for (Json& part : *parts) rewrite(part);
  if (const auto parts = schema.find("patternProperties"); parts != schema.end() && parts->is_object()) {
    Json rewritten = Json::object();
    for (auto& [pattern, part] : parts->items()) {
      rewrite(part);
      rewritten[Pattern::without_escaped(pattern)] = part;
    }
    *parts = rewritten;
  }
}

}  // namespace

std::string readable_json_schema(std::string_view schema) {
  Json json = parse_json(schema, "the schema");
  rewrite(json);
  return json.dump();
}

}  // namespace attend
