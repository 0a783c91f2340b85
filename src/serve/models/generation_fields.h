// The fields of all requests that generate text: those of OpenAI's API, and those of generation_config.json.
#pragma once

#include "serve/http/endpoint.h"

#include <string_view>

namespace attend::serve {

// The fields that completions and chats share.
const RequestFields& request_fields();
// The fields of generation_config.json, which are passed on unchanged.
const RequestFields& config_fields();

}  // namespace attend::serve
