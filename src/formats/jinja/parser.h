// Tokens into a tree, by jinja2's grammar.
#pragma once

#include "formats/jinja/tree.h"

#include <string_view>

namespace attend::jinja {

// Error, with the line, for what is no template, and for statements that read other files.
Body parse_template(std::string_view text);

}  // namespace attend::jinja
