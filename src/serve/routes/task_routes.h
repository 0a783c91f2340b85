// The pipelines of `attend run` as paths of the server.
#pragma once

#include "serve/http/server.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// /v1/run/NAME for every pipeline that does not generate text, with Hugging Face's fields: "inputs", and
// "parameters", which are those of the pipeline. `models` must outlive the server.
void add_task_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
