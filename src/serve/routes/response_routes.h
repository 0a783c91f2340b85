// /v1/responses, as in OpenAI's API, for texts: a conversation in, the next turn out, whole or streamed. The
// server stores none of them.
#pragma once

#include "serve/http/server.h"
#include "serve/routes/text_requests.h"

namespace attend::serve {

// `models` must outlive the server.
void add_response_route(Server& server, const ServedModels& models, const TextBounds& bounds);

}  // namespace attend::serve
