// The pipelines of `attend run` as paths of the server.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::serve {

// /v1/run/NAME for every pipeline that does not generate text, with Hugging Face's fields: "inputs", and
// "parameters", which are those of the pipeline. `models` must outlive the server.
void add_task_routes(Server& server, const ServedModels& models);

}  // namespace attend::serve
