// The server's own state: /health, /v1/models, and /metrics for Prometheus.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// Both must outlive the server.
void add_status_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
