// Translations in the shape of LibreTranslate's API.
#pragma once

#include "serve/served_model.h"
#include "serve/server.h"

namespace attend::serve {

// `models` must outlive the server.
void add_translate_routes(Server& server, const ServedModels& models, std::size_t most_waiting);

}  // namespace attend::serve
