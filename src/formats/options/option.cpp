#include "formats/options/option.h"

#include "base/error.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/ranges.h>

namespace attend {
namespace {

bool is_named(const Option& option, const std::string& name) {
  return option.name == name || std::ranges::find(option.aliases, name) != option.aliases.end();
}

Options::const_iterator position_of(const Options& options, const std::string& name) {
  return std::ranges::find_if(options, [&](const Option& each) { return is_named(each, name); });
}

const Option& find(const Options& options, const std::string& name) {
  const auto found = position_of(options, name);
  if (found == options.end()) throw std::logic_error("no option is called " + name);
  return *found;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

Option Option::also(std::string alias) const {
  Option copy = *this;
  copy.aliases.push_back(std::move(alias));
  return copy;
}

Option Option::only_with(std::string option, std::vector<std::string> values) const {
  Option copy = *this;
  copy.needs = {{std::move(option)}, std::move(values)};
  return copy;
}

Option Option::only_with_any(std::vector<std::string> options) const {
  Option copy = *this;
  copy.needs = {std::move(options), {}};
  return copy;
}

Options operator+(Options first, const Options& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Options selected(const Options& options, const std::vector<std::string>& names) {
  Options some;
  for (const std::string& name : names) some.push_back(find(options, name));
  return some;
}

Json schema_of(const Options& options) {
  Json properties = Json::object();
  for (const Option& each : options) {
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

void set_options(const Options& options, const Json& given, const std::string& where) {
  for (const auto& [name, value] : given.items()) {
    const auto found = position_of(options, name);
    if (found == options.end()) {
      std::vector<std::string> names;
      for (const Option& each : options) names.push_back(each.name);
      fail("{}: there is no field {}: expected {}", where, shown(Json(name)), fmt::join(names, ", "));
    }
    if (value.is_null()) continue;
    check_schema(value, found->schema, where + "." + name);
    if (given.contains(found->excludes) && !given[found->excludes].is_null())
      fail("{}: expected {} or {}, found both", where, found->excludes, name);
    found->set(value);
  }
}

void check_values(const Options& given, const Options& usual) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Json value = given[i].get();
    if (value != usual[i].get()) check_schema(value, given[i].schema, fmt::format("`{}`", given[i].name));
  }
}

void check_effects(const Options& given, const Options& usual, const Options& whole) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Option& option = given[i];
    if (!option.needs || option.get() == usual[i].get()) continue;
    const auto& [options, values] = *option.needs;
    if (values.empty()) {
      const bool any = std::ranges::any_of(options, [&](const std::string& name) {
        return find(whole, name).get() != find(usual, name).get();
      });
      if (!any) fail("`{}`: it has no effect without `{}`", option.name, fmt::join(options, "` or `"));
      continue;
    }
    const std::string value = find(whole, options.front()).get().get<std::string>();
    if (std::ranges::find(values, value) == values.end())
      fail("`{}`: it has no effect with `{}` {}; it is for {}", option.name, options.front(), value,
           fmt::join(values, ", "));
  }
}

namespace option {

Option texts(std::string name, std::vector<std::string>& value, std::string description) {
  return {std::move(name), schema::any_of({schema::list(schema::name(), 1), schema::name()}),
          std::move(description),
          [&value](const Json& given) {
            value = given.is_string() ? split_at_commas(given.get<std::string>())
                                      : given.get<std::vector<std::string>>();
          },
          [&value] { return Json(value); }};
}

Option list(std::string name, std::vector<std::string>& value, std::string description) {
  return make(std::move(name), value, schema::list(schema::name()), std::move(description));
}

Option integers(std::string name, std::vector<std::int64_t>& value, std::int64_t min,
                std::string description) {
  return make(std::move(name), value, schema::list(schema::integer(min)), std::move(description));
}

Option integer_or_list(std::string name, std::vector<std::int64_t>& value, std::int64_t min,
                       std::string description) {
  return {std::move(name), schema::any_of({schema::integer(min), schema::list(schema::integer(min))}),
          std::move(description),
          [&value](const Json& given) {
            value = given.is_array() ? given.get<std::vector<std::int64_t>>()
                                     : std::vector{given.get<std::int64_t>()};
          },
          [&value] { return Json(value); }};
}

}  // namespace option

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
