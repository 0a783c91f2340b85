// The server's own state: /health, /v1/models, and /metrics for Prometheus.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::serve {

// Both must outlive the server.
void add_status_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
