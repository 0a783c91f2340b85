// The page at / for people, and /v1/status with its data.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::serve {

std::string_view server_page();  // made by CMake of page/page.html

// Both must outlive the server.
void add_page_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
