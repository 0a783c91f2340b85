// The tokens of texts, and the texts of tokens.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// `models` must outlive the server.
void add_token_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
