// The methods of strings.
#pragma once

#include "formats/jinja/value.h"

#include <map>

namespace attend::jinja {

const std::map<std::string_view, Value (*)(const Value& text, const Arguments& arguments)>& text_methods();

}  // namespace attend::jinja
