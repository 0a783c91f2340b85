#include "cli/options/parameter_flags.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// All names of the parameter as flags, separated by commas.
std::string flags_of(const PipelineParameter& parameter) {
  std::string flags = dashed(parameter.name);
  for (const std::string& alias : parameter.aliases) flags += "," + dashed(alias);
  return flags;
}

std::string type_of(const Json& schema) {
  return schema.value("type", "");
}

void set(const PipelineParameter& parameter, const Json& value) {
  try {
    check_schema(value, parameter.schema, dashed(parameter.name));
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
  parameter.set(value);
}

// The value of a text: a number, if the schema requires one; a text, if it allows nothing else; otherwise
// JSON, if it is valid JSON.
Json value_of(const std::string& text, const Json& schema) {
  if (type_of(schema) == "string" || schema.contains("enum")) return text;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

// With a default of false there is no flag to turn it off.
CLI::Option* add_flag(CLI::App& app, const PipelineParameter& parameter) {
  std::string flags = flags_of(parameter);
  if (parameter.schema.value("default", Json()) != false) flags += ",!" + dashed("no-" + parameter.name);
  return app.add_flag_function(
      flags, [parameter](std::int64_t count) { set(parameter, count > 0); }, parameter.description);
}

// Given once: texts separated by commas, or a list in JSON. Given several times: each value is one text.
CLI::Option* add_list(CLI::App& app, const PipelineParameter& parameter) {
  return app
      .add_option_function<std::vector<std::string>>(
          flags_of(parameter),
          [parameter](const std::vector<std::string>& given) {
            if (given.size() != 1) return set(parameter, given);
            const Json list = Json::parse(given.front(), nullptr, /*allow_exceptions=*/false);
            set(parameter, list.is_array() ? list : Json(given.front()));
          },
          parameter.description +
              ", comma-separated or as a JSON list; if the option is repeated, each value is one item")
      ->allow_extra_args(false);
}

bool is_list(const Json& schema) {
  return schema.contains("anyOf") &&
         std::ranges::any_of(schema["anyOf"], [](const Json& each) { return type_of(each) == "array"; });
}

std::string type_in_help(const Json& schema) {
  if (schema.contains("enum")) {
    std::vector<std::string> words;
    for (const Json& each : schema["enum"]) words.push_back(each.get<std::string>());
    return fmt::format("{{{}}}", fmt::join(words, ","));
  }
  const std::string type = type_of(schema);
  return type == "integer" ? "INT" : type == "number" ? "FLOAT" : "TEXT";
}

}  // namespace

CLI::Option* add_parameter(CLI::App& app, const PipelineParameter& parameter) {
  if (type_of(parameter.schema) == "boolean") return add_flag(app, parameter);
  if (is_list(parameter.schema)) return add_list(app, parameter);
  CLI::Option* const option = app.add_option_function<std::string>(
      flags_of(parameter),
      [parameter](const std::string& text) { set(parameter, value_of(text, parameter.schema)); },
      parameter.description);
  option->type_name(type_in_help(parameter.schema));
  if (parameter.schema.contains("default")) {
    const Json& usual = parameter.schema["default"];
    option->default_str(usual.is_string() ? usual.get<std::string>() : usual.dump());
  }
  return option;
}

void add_parameters(CLI::App& app, const PipelineParameters& parameters) {
  for (const PipelineParameter& each : parameters) {
    CLI::Option* const option = add_parameter(app, each);
    if (!each.excludes.empty()) option->excludes(app.get_option(dashed(each.excludes)));
  }
}

}  // namespace attend::cli
