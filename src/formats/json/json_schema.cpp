#include "formats/json/json_schema.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace attend {
namespace schema {

Json text() {
  return {{"type", "string"}};
}
Json name() {
  return {{"type", "string"}, {"minLength", 1}};
}
Json flag() {
  return {{"type", "boolean"}};
}
Json integer(std::int64_t min, std::int64_t max) {
  return {{"type", "integer"}, {"minimum", min}, {"maximum", max}};
}
Json number() {
  return {{"type", "number"}};
}
Json number(double min, double max) {
  Json schema = {{"type", "number"}, {"minimum", min}};
  if (max < std::numeric_limits<double>::max()) schema["maximum"] = max;
  return schema;
}
Json number_above(double min) {
  return {{"type", "number"}, {"exclusiveMinimum", min}};
}
Json one_of(const std::vector<Json>& values) {
  return {{"enum", values}};
}
Json list(Json of, std::size_t min, std::size_t max) {
  Json schema = {{"type", "array"}, {"items", std::move(of)}};
  if (min > 0) schema["minItems"] = min;
  if (max < std::numeric_limits<std::size_t>::max()) schema["maxItems"] = max;
  return schema;
}
Json pair(Json first, Json second) {
  return {{"type", "array"},
          {"prefixItems", Json::array({std::move(first), std::move(second)})},
          {"minItems", 2},
          {"maxItems", 2}};
}
Json any_of(const std::vector<Json>& schemas) {
  return {{"anyOf", schemas}};
}
Json nothing() {
  return {{"type", "null"}};
}
Json or_null(Json schema) {
  return any_of({std::move(schema), nothing()});
}
Json anything() {
  return Json::object();
}
Json object(const Json& properties, const std::vector<std::string>& required) {
  Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}
Json open_object(const Json& properties, const std::vector<std::string>& required) {
  Json schema = object(properties, required);
  schema.erase("additionalProperties");
  return schema;
}
Json any_object() {
  return {{"type", "object"}};
}

}  // namespace schema

namespace {

// The words for one, and for several: "a text", "texts".
struct Words {
  const char *type, *one, *several;
};
constexpr Words kWords[] = {{"string", "a text", "texts"},      {"integer", "an integer", "integers"},
                            {"number", "a number", "numbers"},  {"boolean", "true or false", "truth values"},
                            {"object", "an object", "objects"}, {"array", "a list", "lists"},
                            {"null", "null", "nulls"}};

const Words& words_of(const std::string& type) {
  return *std::ranges::find_if(kWords, [&](const Words& words) { return type == words.type; });
}

std::string joined(const std::vector<std::string>& all) {
  return fmt::format("{}", fmt::join(all, " or "));
}

// "1" for 1.0.
std::string plain(const Json& number) {
  return number.is_number_float() ? fmt::format("{}", number.get<double>()) : number.dump();
}

std::string limits_in_words(const Json& schema) {
  const bool min = schema.contains("minimum"), max = schema.contains("maximum");
  if (schema.contains("exclusiveMinimum")) return " above " + plain(schema["exclusiveMinimum"]);
  if (min && max && schema["maximum"] != schema::kMaxInteger)
    return fmt::format(" from {} to {}", plain(schema["minimum"]), plain(schema["maximum"]));
  return min   ? " of at least " + plain(schema["minimum"])
         : max ? " of at most " + plain(schema["maximum"])
               : "";
}

std::string several_in_words(const Json& schema) {
  if (!schema.contains("type")) {
    if (!schema.contains("anyOf")) return "values";
    std::vector<std::string> all;
    for (const Json& each : schema["anyOf"]) all.push_back(several_in_words(each));
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return joined(all);
  }
  const auto type = schema["type"].get<std::string>();
  if (type == "array")
    return schema.contains("prefixItems") ? "pairs" : "lists of " + several_in_words(schema["items"]);
  return words_of(type).several;
}

std::string list_in_words(const Json& schema, bool is_alone) {
  const Json max = schema.value("maxItems", Json());
  if (max == 0) return "an empty list";
  std::string words = "a list of " + several_in_words(schema["items"]);
  if (is_alone && schema.value("minItems", 0) > 0) words += " that is not empty";
  return max.is_null() ? words : words + fmt::format(", at most {}", max.dump());
}

std::string to_words(const Json& schema, bool is_alone);

std::string pair_in_words(const Json& schema) {
  const Json& both = schema["prefixItems"];
  return fmt::format("a pair of {} and {}", to_words(both[0], false), to_words(both[1], false));
}

// `is_alone`: it is not one of several schemas, which are described briefly.
std::string to_words(const Json& schema, bool is_alone) {
  if (schema.contains("enum")) {
    std::vector<std::string> values;
    for (const Json& each : schema["enum"])
      values.push_back(each.is_string() && !each.get<std::string>().empty() ? each.get<std::string>()
                                                                            : each.dump());
    return values.size() == 1 ? values.front() : fmt::format("one of {}", fmt::join(values, ", "));
  }
  if (schema.contains("anyOf")) {
    std::vector<std::string> all;
    for (const Json& each : schema["anyOf"])
      if (each != schema::nothing()) all.push_back(to_words(each, false));
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return joined(all);
  }
  if (!schema.contains("type")) return "any value";
  const auto type = schema["type"].get<std::string>();
  if (schema.contains("prefixItems")) return pair_in_words(schema);
  if (type == "array") return list_in_words(schema, is_alone);
  if (type == "string" && is_alone && schema.value("minLength", 0) > 0) return "a text that is not empty";
  return words_of(type).one + limits_in_words(schema);
}

bool is_integer(const Json& value) {
  return value.is_number_integer() ||
         (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
}

bool has_type(const Json& value, const std::string& type) {
  return type == "string"    ? value.is_string()
         : type == "integer" ? is_integer(value)
         : type == "number"  ? value.is_number()
         : type == "boolean" ? value.is_boolean()
         : type == "object"  ? value.is_object()
         : type == "array"   ? value.is_array()
                             : value.is_null();
}

long double exact(const Json& number) {
  return number.is_number_unsigned()  ? static_cast<long double>(number.get<std::uint64_t>())
         : number.is_number_integer() ? static_cast<long double>(number.get<std::int64_t>())
                                      : static_cast<long double>(number.get<double>());
}

[[noreturn]] void refuse_value(const Json& value, const Json& schema, const std::string& name) {
  fail("{}: expected {}, found {}", name, in_words(schema), shown(value));
}

void check_object(const Json& value, const Json& schema, const std::string& name) {
  const Json properties = schema.value("properties", Json::object());
  for (const Json& each : schema.value("required", Json::array()))
    if (!value.contains(each.get<std::string>()))
      fail("{}: expected the field {}, found {}", name, each.get<std::string>(), shown(value));
  for (const auto& [field, inner] : value.items()) {
    if (properties.contains(field)) {
      check_schema(inner, properties[field], name + "." + field);
    } else if (const Json others = schema.value("additionalProperties", Json(true)); others.is_object()) {
      check_schema(inner, others, name + "." + field);
    } else if (others == false) {
      std::vector<std::string> names;
      for (const auto& [known, unused] : properties.items()) names.push_back(known);
      fail("{}: there is no field {}: expected {}", name, shown(Json(field)), fmt::join(names, ", "));
    }
  }
}

void check_list(const Json& value, const Json& schema, const std::string& name) {
  if (value.size() < schema.value("minItems", std::size_t{0}) ||
      value.size() > schema.value("maxItems", std::numeric_limits<std::size_t>::max()))
    refuse_value(value, schema, name);
  const bool is_pair = schema.contains("prefixItems");
  for (std::size_t i = 0; i < value.size(); ++i)
    check_schema(value[i], is_pair ? schema["prefixItems"][i] : schema["items"],
                 fmt::format("{}[{}]", name, i));
}

bool meets(const Json& value, const Json& schema) {
  try {
    check_schema(value, schema, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// If the value has the right type, but an error inside, reports that error.
void check_any(const Json& value, const Json& schema, const std::string& name) {
  const Json& all = schema["anyOf"];
  if (std::ranges::any_of(all, [&](const Json& each) { return meets(value, each); })) return;
  std::vector<const Json*> alike;
  for (const Json& each : all)
    if (each.contains("type") && has_type(value, each["type"].get<std::string>())) alike.push_back(&each);
  if (alike.size() == 1) check_schema(value, *alike.front(), name);
  refuse_value(value, schema, name);
}

}  // namespace

std::string in_words(const Json& schema) {
  return to_words(schema, true);
}

void check_schema(const Json& value, const Json& schema, const std::string& name) {
  if (schema.contains("anyOf")) return check_any(value, schema, name);
  if (schema.contains("enum")) {
    if (std::ranges::find(schema["enum"], value) == schema["enum"].end()) refuse_value(value, schema, name);
    return;
  }
  if (!schema.contains("type")) return;
  if (!has_type(value, schema["type"].get<std::string>())) refuse_value(value, schema, name);
  if (value.is_number()) {
    const bool too_large = schema.contains("maximum") && exact(value) > exact(schema["maximum"]);
    // The description leaves this limit out, because no normal value is near it.
    if (too_large && schema["maximum"] == schema::kMaxInteger)
      fail("{}: expected an integer of at most {}, found {}", name, schema::kMaxInteger, shown(value));
    const bool too_small =
        (schema.contains("minimum") && exact(value) < exact(schema["minimum"])) ||
        (schema.contains("exclusiveMinimum") && exact(value) <= exact(schema["exclusiveMinimum"]));
    if (too_large || too_small) refuse_value(value, schema, name);
  } else if (value.is_string()) {
    if (value.get_ref<const std::string&>().size() < schema.value("minLength", std::size_t{0}))
      refuse_value(value, schema, name);
  } else if (value.is_array()) {
    check_list(value, schema, name);
  } else if (value.is_object()) {
    check_object(value, schema, name);
  }
}

}  // namespace attend
