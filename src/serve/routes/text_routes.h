// /v1/completions and /v1/chat/completions, as in OpenAI's API: texts from a GenerationQueue, whole or
// streamed.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_model.h"
#include "serve/routes/text_requests.h"

namespace attend::serve {

// `models` must outlive the server.
void add_text_routes(Server& server, const ServedModels& models, const TextBounds& bounds);

}  // namespace attend::serve
