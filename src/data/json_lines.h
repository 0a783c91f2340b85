// JSON lines: one object per line; or one list of objects, as in some .json files.
#pragma once

#include "data/bad_rows.h"
#include "formats/json/json.h"

#include <functional>
#include <string>

namespace attend {

// Calls `take` for every value with its place ("FILE, line 3" or "FILE, item 3"). Invalid JSON, and values
// for which `take` throws an Error, are bad rows. Blank lines are ignored.
void read_json_lines(const std::string& file, BadRows& bad,
                     const std::function<void(Json value, const std::string& place)>& take);

}  // namespace attend
