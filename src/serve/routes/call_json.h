// Tool calls in the format of OpenAI's API.
#pragma once

#include <attend/tool_calls.h>

#include "formats/json/json.h"

namespace attend::serve {

// Nine letters and digits, as Mistral's chat templates expect.
std::string new_call_id();
Json call_json(const ToolCall& call, const std::string& id);

}  // namespace attend::serve
