// Regular expressions that know the characters of today: Oniguruma's tables are those of the Unicode it was
// released with (14 for Debian 12's), while `tokenizers` has a newer one inside.
#pragma once

#include <string>

namespace attend::tokenizers {

// Once, before the first expression is compiled: the properties that expressions name (\p{L}) have what a
// newer Unicode added.
void teach_oniguruma();
// The expression with \w, \W, \d and \D, whose tables cannot be taught, by their properties.
std::string by_property(const std::string& expression);

}  // namespace attend::tokenizers
