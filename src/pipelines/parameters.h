// The parameters of a pipeline as data: `attend run` makes flags of them, the server a JSON schema.
#pragma once

#include "formats/json/json_schema.h"

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attend {

struct PipelineParameter {
  std::string name;                       // in JSON; as a flag with dashes: --top-k
  Json schema;                            // of its value, with its default if it has one
  std::string description;                // one sentence, without a full stop
  std::function<void(const Json&)> set;   // gets a value that matches the schema
  std::vector<std::string> aliases = {};  // other names
  std::string excludes = {};              // the name of a parameter that must not be given too
};
using PipelineParameters = std::vector<PipelineParameter>;

// The schema of an object with these parameters.
Json schema_of(const PipelineParameters& parameters);
// Sets those that `given` has; null is the same as leaving one out. An Error, with the names of all, for one
// that does not exist, and for a value that does not match its schema.
void set_parameters(const PipelineParameters& parameters, const Json& given);

// PipelineParameters that set a variable, which must outlive them. An optional one has no default.
namespace parameter {

template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

template <class T>
PipelineParameter make(std::string name, T& value, Json schema, std::string description) {
  using Type = typename Held<T>::Type;
  if constexpr (std::is_same_v<Type, T>) schema["default"] = value;
  return {std::move(name), std::move(schema), std::move(description),
          [&value](const Json& given) { value = given.get<Type>(); }};
}

// An integer, or an optional one.
template <class T>
PipelineParameter integer(std::string name, T& value, std::int64_t min, std::string description) {
  return make(std::move(name), value, schema::integer(min), std::move(description));
}
template <class T>
PipelineParameter text(std::string name, T& value, std::string description) {
  return make(std::move(name), value, schema::text(), std::move(description));
}
template <class T>
PipelineParameter flag(std::string name, T& value, std::string description) {
  return make(std::move(name), value, schema::flag(), std::move(description));
}
// One of these texts.
template <class T>
PipelineParameter word(std::string name, T& value, const std::vector<Json>& words, std::string description) {
  return make(std::move(name), value, schema::one_of(words), std::move(description));
}
// One of these values, each with its name.
template <class T>
PipelineParameter choice(std::string name, T& value,
                         std::vector<std::pair<std::string, typename Held<T>::Type>> values,
                         std::string description) {
  std::vector<Json> names;
  for (const auto& each : values) names.emplace_back(each.first);
  Json schema = schema::one_of(names);
  if constexpr (std::is_same_v<typename Held<T>::Type, T>)
    for (const auto& [each, meaning] : values)
      if (meaning == value) schema["default"] = each;
  return {std::move(name), std::move(schema), std::move(description),
          [&value, values = std::move(values)](const Json& given) {
            for (const auto& [each, meaning] : values)
              if (given == each) value = meaning;
          }};
}
// A list of texts, or one text with commas.
PipelineParameter texts(std::string name, std::vector<std::string>& value, std::string description);

}  // namespace parameter

// The comma-separated parts, without spaces around them; the whole text if there are none.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace attend
