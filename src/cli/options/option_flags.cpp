#include "cli/options/option_flags.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// The description, in which other options are `top_k`, with --top-k instead.
std::string in_help(std::string text) {
  for (std::size_t begin = text.find('`'); begin != text.npos; begin = text.find('`')) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == text.npos) break;
    text.replace(begin, end - begin + 1, dashed(text.substr(begin + 1, end - begin - 1)));
  }
  return text;
}

std::string type_of(const Json& schema) {
  return schema.value("type", "");
}

void set(const Option& option, const Json& value) {
  try {
    check_schema(value, option.schema, dashed(option.name));
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
  option.set(value);
}

// The value of a text: a number, if the schema requires one; a text, if it allows nothing else; otherwise
// JSON, if it is valid JSON.
Json value_of(const std::string& text, const Json& schema) {
  if (type_of(schema) == "string" || schema.contains("enum")) return text;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

// With a default of false there is no flag to turn it off.
CLI::Option* add_flag(CLI::App& app, const Option& option) {
  std::string flags = flags_of(option);
  if (option.schema.value("default", Json()) != false) {
    flags += ",!" + dashed("no-" + option.name);
    for (const std::string& alias : option.aliases) flags += ",!" + dashed("no-" + alias);
  }
  return app.add_flag_function(
      flags, [option](std::int64_t count) { set(option, count > 0); }, in_help(option.description));
}

// Given once: texts separated by commas, or a list in JSON. Given several times: each value is one text.
CLI::Option* add_list(CLI::App& app, const Option& option) {
  return app
      .add_option_function<std::vector<std::string>>(
          flags_of(option),
          [option](const std::vector<std::string>& given) {
            if (given.size() != 1) return set(option, given);
            const Json list = Json::parse(given.front(), nullptr, /*allow_exceptions=*/false);
            set(option, list.is_array() ? list : Json(given.front()));
          },
          in_help(option.description) +
              ", comma-separated or as a JSON list; if the option is repeated, each value is one item")
      ->allow_extra_args(false);
}

// Several values after one flag. Commas separate numbers, and mean nothing in texts.
CLI::Option* add_values(CLI::App& app, const Option& option) {
  const Json& schema = option.schema;
  const bool pair = schema.contains("prefixItems");
  const bool texts = !pair && type_of(schema["items"]) == "string";
  CLI::Option* const added = app.add_option_function<std::vector<std::string>>(
      flags_of(option),
      [option, texts](const std::vector<std::string>& given) {
        if (texts) return set(option, given);
        Json values = Json::array();
        for (const std::string& each : given) values.push_back(value_of(each, Json::object()));
        set(option, values);
      },
      in_help(option.description));
  if (!texts) added->delimiter(',');
  if (pair) added->expected(2);
  return added;
}

std::string type_in_help(const Json& schema) {
  if (schema.contains("enum")) {
    std::vector<std::string> words;
    for (const Json& each : schema["enum"]) words.push_back(each.get<std::string>());
    return fmt::format("{{{}}}", fmt::join(words, ","));
  }
  const std::string type = type_of(schema.contains("items") ? schema["items"] : schema);
  return type == "integer" ? "INT" : type == "number" || schema.contains("prefixItems") ? "FLOAT" : "TEXT";
}

// One value or a list of them.
bool is_one_or_list(const Json& schema) {
  return type_of(schema) != "array" && is_list(schema);
}

}  // namespace

std::string flags_of(const Option& option) {
  std::string flags = dashed(option.name);
  for (const std::string& alias : option.aliases) flags += "," + dashed(alias);
  return flags;
}

bool is_list(const Json& schema) {
  return type_of(schema) == "array" ||
         (schema.contains("anyOf") && std::ranges::any_of(schema["anyOf"], is_list));
}

CLI::Option* add_value(CLI::App& app, const Option& option) {
  return app.add_option_function<std::string>(
      flags_of(option), [option](const std::string& text) { set(option, value_of(text, option.schema)); },
      in_help(option.description));
}

CLI::Option* add_option(CLI::App& app, const Option& option) {
  const std::string type = type_of(option.schema);
  CLI::Option* const added = type == "boolean"               ? add_flag(app, option)
                             : is_one_or_list(option.schema) ? add_list(app, option)
                             : type == "array"               ? add_values(app, option)
                                                             : add_value(app, option);
  added->required(option.required);
  if (type == "boolean" || is_one_or_list(option.schema)) return added;
  added->type_name(type_in_help(option.schema));
  const Json usual = option.schema.value("default", Json());
  if (!usual.is_null() && !usual.empty() && usual != "")
    added->default_str(usual.is_string() ? usual.get<std::string>() : usual.dump());
  return added;
}

void add_options(CLI::App& app, const Options& options, const std::string& title) {
  for (const Option& each : options) {
    CLI::Option* const added = add_option(app, each);
    if (!title.empty()) added->group(title);
    if (!each.excludes.empty()) added->excludes(app.get_option(dashed(each.excludes)));
  }
}

}  // namespace attend::cli
