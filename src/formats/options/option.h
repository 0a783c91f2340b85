// The options of a struct as data: the command line makes flags of them, recipe files their keys, the server
// a JSON schema, the documentation a table.
#pragma once

#include "formats/json/json_schema.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attend {

// When an option has an effect: if one of `options` is given or, with `values`, if the first of them has one
// of these.
struct OptionCondition {
  std::vector<std::string> options, values;
};

struct Option {
  std::string name;                           // in JSON; as a flag with dashes: --top-k
  Json schema;                                // of its value, with its default if it has one
  std::string description;                    // one sentence, without a full stop
  std::function<void(const Json&)> set;       // gets a value that matches the schema, or what get() returned
  std::function<Json()> get = {};             // the current value; null: an optional one without a value
  std::vector<std::string> aliases = {};      // other names
  std::string excludes = {};                  // the name of an option that must not be given too
  std::optional<OptionCondition> needs = {};  // absent: it always has an effect
  bool required = false;

  // The same option with some of these, for tables.
  Option also(std::string alias) const;
  Option only_with(std::string option, std::vector<std::string> values) const;
  Option only_with_any(std::vector<std::string> options) const;
};
using Options = std::vector<Option>;

// Options about one subject, for help and documentation.
struct OptionGroup {
  const char* title;
  Options options;
};

Options operator+(Options first, const Options& second);
// Those with one of these names, in this order.
Options selected(const Options& options, const std::vector<std::string>& names);

// The schema of an object with these options.
Json schema_of(const Options& options);
// Sets those that `given` has; null is the same as leaving one out. An Error, with the names of all, for one
// that does not exist, and for a value that does not match its schema; `where` names `given` in it.
void set_options(const Options& options, const Json& given, const std::string& where = "parameters");
// An Error for a value that differs from the one in `usual`, the same table of an untouched struct, and does
// not match its schema.
void check_values(const Options& given, const Options& usual);
// An Error for the first option whose value differs from the one in `usual` and has no effect, because what
// it needs is missing in `whole`. All three are tables of the same struct: as a caller filled it, as it is
// without a caller, and with all defaults that depend on other options.
void check_effects(const Options& given, const Options& usual, const Options& whole);

// Options that set a variable, which must outlive them. An optional one has no default.
namespace option {

template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};
template <class T>
constexpr bool kIsOptional = !std::is_same_v<typename Held<T>::Type, T>;

template <class T>
Json to_json(const T& value) {
  if constexpr (kIsOptional<T>)
    return value ? Json(*value) : Json();
  else if constexpr (std::is_same_v<T, std::filesystem::path>)
    return value.string();
  else
    return value;
}

template <class T>
Option make(std::string name, T& value, Json schema, std::string description) {
  using Type = typename Held<T>::Type;
  if constexpr (!kIsOptional<T>) schema["default"] = to_json(value);
  return {std::move(name), std::move(schema), std::move(description),
          [&value](const Json& given) {
            if constexpr (kIsOptional<T>)
              if (given.is_null()) return value.reset();
            if constexpr (std::is_same_v<T, std::filesystem::path>)
              value = given.get<std::string>();
            else
              value = given.get<Type>();
          },
          [&value] { return to_json(value); }};
}

// An integer, or an optional one.
template <class T>
Option integer(std::string name, T& value, std::int64_t min, std::string description) {
  return make(std::move(name), value, schema::integer(min), std::move(description));
}
template <class T>
Option integer(std::string name, T& value, std::int64_t min, std::int64_t max, std::string description) {
  return make(std::move(name), value, schema::integer(min, max), std::move(description));
}
template <class T>
Option number(std::string name, T& value, Json schema, std::string description) {
  return make(std::move(name), value, std::move(schema), std::move(description));
}
template <class T>
Option text(std::string name, T& value, std::string description) {
  return make(std::move(name), value, schema::text(), std::move(description));
}
template <class T>
Option flag(std::string name, T& value, std::string description) {
  return make(std::move(name), value, schema::flag(), std::move(description));
}
// One of these texts.
template <class T>
Option word(std::string name, T& value, const std::vector<Json>& words, std::string description) {
  return make(std::move(name), value, schema::one_of(words), std::move(description));
}
// One of these values, each with its name.
template <class T>
Option choice(std::string name, T& value, std::vector<std::pair<std::string, typename Held<T>::Type>> values,
              std::string description) {
  std::vector<Json> names;
  for (const auto& each : values) names.emplace_back(each.first);
  Json schema = schema::one_of(names);
  const auto name_of = [values, &value]() -> Json {
    for (const auto& [each, meaning] : values)
      if (meaning == value) return each;
    return {};
  };
  if constexpr (!kIsOptional<T>) schema["default"] = name_of();
  return {std::move(name), std::move(schema), std::move(description),
          [&value, values](const Json& given) {
            for (const auto& [each, meaning] : values)
              if (given == each) value = meaning;
          },
          name_of};
}
// A list of texts, or one text with commas.
Option texts(std::string name, std::vector<std::string>& value, std::string description);
// A list of texts, such as files, in which a comma has no meaning.
Option list(std::string name, std::vector<std::string>& value, std::string description);
// A list of integers.
Option integers(std::string name, std::vector<std::int64_t>& value, std::int64_t min,
                std::string description);
// The same, or one integer.
Option integer_or_list(std::string name, std::vector<std::int64_t>& value, std::int64_t min,
                       std::string description);

}  // namespace option

// The comma-separated parts, without spaces around them; the whole text if there are none.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace attend
