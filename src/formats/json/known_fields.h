// Rejects unknown fields of options objects, so that spelling mistakes are found.
#pragma once

#include "formats/json/json.h"

#include <span>

namespace attend {

// An Error for a field with another name, which lists the names.
void expect_only(const Fields& fields, std::span<const std::string_view> names);

}  // namespace attend
