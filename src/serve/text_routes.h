// /v1/completions and /v1/chat/completions, as OpenAI's API has them: texts from a GenerationQueue, whole or
// as they come.
#pragma once

#include "serve/served_model.h"
#include "serve/server.h"

namespace attend::serve {

// Both are refused with 429 where `most_waiting` requests of the model wait already. `models` must outlive
// the server.
void add_text_routes(Server& server, const ServedModels& models, std::size_t most_waiting);

}  // namespace attend::serve
