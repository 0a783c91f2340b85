// Python's pprint.pformat(): a value over several lines of 80 characters.
#pragma once

#include "formats/jinja/value.h"

namespace attend::jinja {

// Keys of dicts are sorted.
std::string pretty_printed(const Value& value);

}  // namespace attend::jinja
