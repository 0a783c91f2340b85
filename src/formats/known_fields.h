// Rejects unknown fields of options objects, so that misspelt ones are found.
#pragma once

#include "formats/json.h"

#include <span>

namespace attend {

// Error, with the names there are, for a field of another name.
void expect_only(const Fields& fields, std::span<const std::string_view> names);

}  // namespace attend
