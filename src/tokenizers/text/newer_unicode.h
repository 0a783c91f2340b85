// Regular expressions with current Unicode data: Oniguruma's tables are of the Unicode version at its release
// (14 in Debian 12), while `tokenizers` contains a newer one.
#pragma once

#include <string>

namespace attend::tokenizers {

// Extends the properties in expressions (\p{L}) by what newer Unicode versions added. Call once, before the
// first expression is compiled.
void teach_oniguruma();
// Replaces \w, \W, \d and \D, whose tables cannot be extended, by properties.
std::string by_property(const std::string& expression);

}  // namespace attend::tokenizers
