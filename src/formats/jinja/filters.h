// Filters (after |) and tests (after `is`) of Jinja.
#pragma once

#include "formats/jinja/value.h"

namespace attend::jinja {

// Throws Error for a name that jinja2 does not have either, and for the few that Attend does not support.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);
bool is_filter(const std::string& name);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments);

using Filter = Value (*)(const Value& value, const Arguments& arguments);
struct NamedFilter {
  std::string_view name;
  Filter filter;
};
// Filters for sequences, and those for HTML, URLs and values to be read by people. The others are in
// filters.cpp.
const std::vector<NamedFilter>& sequence_filters();
const std::vector<NamedFilter>& page_filters();

// value.a.0.b, as filters name attributes: "a.0.b" or 0. `otherwise` replaces undefined values on the path.
Value attribute_path(const Value& value, const Value& path, const Value* otherwise = nullptr);

}  // namespace attend::jinja
