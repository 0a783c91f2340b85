// The page at / for people, and /v1/status with its data.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

std::string_view server_page();  // made by CMake of page/page.html

// Both must outlive the server.
void add_page_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
