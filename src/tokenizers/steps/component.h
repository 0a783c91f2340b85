// What the components of tokenizer.json share: a "type", and a Sequence that contains others.
#pragma once

#include "base/error.h"
#include "formats/json/json.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::tokenizers {

// Limit for Sequences within Sequences; real files have two levels.
constexpr int max_component_depth = 32;

inline std::string component_type(const Json& json, const std::string& source, int depth) {
  if (depth > max_component_depth) fail("{}: more than {} nested Sequences", source, max_component_depth);
  return Fields(json, source).text({"type"});
}

inline const Json& component_field(const Json& json, const char* name, const std::string& source) {
  if (!json.is_object() || !json.contains(name)) fail("{}: the field {} is missing", source, name);
  return json.at(name);
}

template <class Component, class Make>
std::vector<std::unique_ptr<Component>> make_components(const Json& json, const char* field,
                                                        const std::string& source, int depth, Make make) {
  const Json& list = component_field(json, field, source);
  if (!list.is_array()) fail("{}: {} is not a list", source, field);
  std::vector<std::unique_ptr<Component>> parts;
  for (std::size_t i = 0; i < list.size(); ++i)
    parts.push_back(make(list[i], source + "." + field + "[" + std::to_string(i) + "]", depth + 1));
  return parts;
}

}  // namespace attend::tokenizers
