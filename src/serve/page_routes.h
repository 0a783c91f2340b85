// The page at /, where people look at a server, and /v1/status, which it draws.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::serve {

std::string_view server_page();  // made by CMake of page/page.html

// Both must outlive the server.
void add_page_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
