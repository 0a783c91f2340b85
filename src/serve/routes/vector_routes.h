// Vectors of texts, in the formats of OpenAI, text-embeddings-inference and Cohere.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// `models` must outlive the server.
void add_vector_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
