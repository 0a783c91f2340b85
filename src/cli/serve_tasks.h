// The tasks of `attend run` as paths of a server.
#pragma once

#include "serve/served_models.h"
#include "serve/server.h"

namespace attend::cli {

// /v1/run/TASK for every task but those that generate text, with Hugging Face's words: {"inputs", and
// "parameters", which are the task's options}. `models` must outlive the server.
void add_task_routes(serve::Server& server, const serve::ServedModels& models);

}  // namespace attend::cli
