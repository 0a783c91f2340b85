// A model's computation for a text, as `attend explain` shows it: numbers, or a page.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

struct ExplainBounds {
  std::size_t tokens = 256;  // of a text: attention has a number for each pair of them, in each head
  std::size_t at_a_time = 2;
};

// `models` must outlive the server.
void add_explain_routes(Server& server, const ServedModels& models, const ExplainBounds& bounds);

}  // namespace attend::serve
