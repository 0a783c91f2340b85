// JSON lines: an object a line; or one list of objects, which some .json files are.
#pragma once

#include "data/bad_rows.h"
#include "formats/json.h"

#include <functional>
#include <string>

namespace attend {

// Calls `take` for every value with its place ("FILE, line 3" or "FILE, item 3"). What is not JSON, and
// values for which `take` throws an Error, are bad rows. Blank lines are passed over.
void read_json_lines(const std::string& file, BadRows& bad,
                     const std::function<void(Json value, const std::string& place)>& take);

}  // namespace attend
