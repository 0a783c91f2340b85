// What the server's model is, as text-embeddings-inference says it.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// Both must outlive the server.
void add_info_route(Server& server, const ServedModels& models);

}  // namespace attend::serve
