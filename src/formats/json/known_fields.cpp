#include "formats/json/known_fields.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {

void expect_only(const Fields& fields, std::span<const std::string_view> names) {
  for (const auto& [name, value] : fields.json().items())
    if (std::ranges::find(names, name) == names.end())
      fail("{}: there is no field {}: expected {}", fields.source(), shown(name), fmt::join(names, ", "));
}

}  // namespace attend
