// Labels for texts, and how well texts match, in the formats of Cohere, text-embeddings-inference and vLLM.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// `models` must outlive the server.
void add_judge_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
