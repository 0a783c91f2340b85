// Loads and unloads adapters while the server runs, under vLLM's paths.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

struct AdapterLoading {
  std::filesystem::path directory;  // nothing outside it is read
  std::size_t max_adapters = 32;    // of each model
};

// `models` must outlive the server.
void add_adapter_routes(Server& server, ServedModels& models, const AdapterLoading& loading);

}  // namespace attend::serve
