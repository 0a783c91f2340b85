// Operators and indexing, as in Python.
#pragma once

#include "formats/jinja/value.h"

namespace attend::jinja {

// + - * / // % ** ~
Value compute(std::string_view sign, const Value& left, const Value& right);
Value negative(const Value& value);
// == != < <= > >= in, not in
bool compare(std::string_view sign, const Value& left, const Value& right);

// value.name and value[key]: undefined if it does not exist; an Error for an undefined value.
Value attribute_of(const Value& value, const std::string& name);
Value item_of(const Value& value, const Value& key);
// value[begin:end:step]; undefined means not given.
Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step);

// format % arguments, and format.format(arguments).
std::string format_percent(const std::string& format, const Value& arguments);
std::string format_braces(const std::string& format, const Arguments& arguments);

}  // namespace attend::jinja
