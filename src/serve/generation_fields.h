// The fields of all requests that generate text: those of OpenAI's API, and those of generation_config.json.
#pragma once

#include "serve/endpoint.h"

#include <string_view>

namespace attend::serve {

// Of completions and chats alike; what only one of them has is not among them.
const RequestFields& generation_fields();
// Those of generation_config.json, which a request passes on as they are.
const RequestFields& config_fields();

}  // namespace attend::serve
