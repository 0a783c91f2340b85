// Translations in the format of LibreTranslate's API.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"
#include "serve/routes/text_requests.h"

namespace attend::serve {

// `models` must outlive the server.
void add_translate_routes(Server& server, const ServedModels& models, const TextBounds& bounds);

}  // namespace attend::serve
