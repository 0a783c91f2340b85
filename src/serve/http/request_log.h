// An id for each request, and a line of JSON in the log.
#pragma once

#include "formats/json/json.h"

#include <string>
#include <string_view>

namespace attend::serve {

// The request that this thread answers.
struct PresentRequest {
  Json facts = Json::object();  // details from its handler
};
PresentRequest& present_request();

// The client's own id, if it has a few visible characters, or a new unique one.
std::string request_id(std::string_view given);

// Writes {"time": "2026-01-31T12:00:00.123Z", "level": ..., ...} as a line to standard error.
void write_log_line(std::string_view level, const Json& fields);
// From now on the library's messages also have this format.
void log_as_json();

}  // namespace attend::serve
