// Labels for texts, and how well texts match, in the formats of Cohere, text-embeddings-inference and vLLM.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::serve {

// `models` must outlive the server.
void add_judge_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
