// /v1/embeddings as in OpenAI's API; and a model's tokens, /tokenize and /detokenize.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// `models` must outlive the server.
void add_embedding_route(Server& server, ServedModels& models);
void add_token_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
