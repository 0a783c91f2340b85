// Parses tokens into a tree, with jinja2's grammar.
#pragma once

#include "formats/jinja/tree.h"

#include <string_view>

namespace attend::jinja {

// An Error, with the line, for invalid templates, and for statements that read other files.
Body parse_template(std::string_view text);

}  // namespace attend::jinja
