#include "pipelines/parameters.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {
namespace {

bool is_named(const PipelineParameter& parameter, const std::string& name) {
  return parameter.name == name || std::ranges::find(parameter.aliases, name) != parameter.aliases.end();
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

Json schema_of(const PipelineParameters& parameters) {
  Json properties = Json::object();
  for (const PipelineParameter& each : parameters) {
    Json value = each.schema;
    value.erase("default");
    Json schema = schema::or_null(std::move(value));
    if (each.schema.contains("default")) schema["default"] = each.schema["default"];
    schema["description"] = each.description;
    properties[each.name] = schema;
    for (const std::string& alias : each.aliases) properties[alias] = schema;
  }
  return schema::object(properties);
}

void set_parameters(const PipelineParameters& parameters, const Json& given) {
  for (const auto& [name, value] : given.items()) {
    const auto found =
        std::ranges::find_if(parameters, [&](const PipelineParameter& p) { return is_named(p, name); });
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const PipelineParameter& each : parameters) names.push_back(each.name);
      fail("parameters: there is no field {}: expected {}", shown(Json(name)), fmt::join(names, ", "));
    }
    if (value.is_null()) continue;
    check_schema(value, found->schema, "parameters." + name);
    if (given.contains(found->excludes) && !given[found->excludes].is_null())
      fail("parameters: expected {} or {}, found both", found->excludes, name);
    found->set(value);
  }
}

PipelineParameter parameter::texts(std::string name, std::vector<std::string>& value,
                                   std::string description) {
  return {std::move(name), schema::any_of({schema::list(schema::name(), 1), schema::name()}),
          std::move(description), [&value](const Json& given) {
            value = given.is_string() ? split_at_commas(given.get<std::string>())
                                      : given.get<std::vector<std::string>>();
          }};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (std::string part = trimmed(text.substr(begin, comma - begin)); !part.empty())
      parts.push_back(std::move(part));
    begin = comma + 1;
  }
  return parts.empty() && !text.empty() ? std::vector{text} : parts;
}

}  // namespace attend
