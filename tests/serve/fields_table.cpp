// docs/serving-api.md: the paths of a server and their fields. Prints it, or with --check FILE checks that
// the file is the same.
#include "base/error.h"
#include "base/file.h"
#include "serve/routes/adapter_routes.h"
#include "serve/routes/explain_routes.h"
#include "serve/routes/info_routes.h"
#include "serve/routes/judge_routes.h"
#include "serve/routes/page_routes.h"
#include "serve/routes/response_routes.h"
#include "serve/routes/status_routes.h"
#include "serve/routes/text_routes.h"
#include "serve/routes/token_routes.h"
#include "serve/routes/translate_routes.h"
#include "serve/routes/vector_routes.h"

#include <cstdio>
#include <string_view>

namespace attend::serve {
namespace {

std::string page() {
  ServedModels models({}, {});
  ServerOptions options;
  options.port = 0;
  Server server(options);
  add_text_routes(server, models, {});
  add_response_route(server, models, {});
  add_vector_routes(server, models);
  add_judge_routes(server, models);
  add_explain_routes(server, models, {});
  add_translate_routes(server, models, {});
  add_adapter_routes(server, models, {"."});
  add_token_routes(server, models);
  add_status_routes(server, models);
  add_info_route(server, models);
  add_page_routes(server, models);
  return "# Paths of `attend serve` and their fields\n\nMade by a program from the table that also checks "
         "requests and writes "
         "`/openapi.json`; do not edit it. [serving.md](serving.md) says\nwhat they are for. `null` is the "
         "same as leaving "
         "a field out. `/openapi.json` of a server also has `/v1/run/TASK`, whose `parameters` are the "
         "options of\n"
         "`attend run TASK`.\n" +
         fields_page(server.endpoints());
}

}  // namespace
}  // namespace attend::serve

int main(int argc, char** argv) try {
  const std::string page = attend::serve::page();
  if (argc == 3 && std::string_view(argv[1]) == "--check") {
    if (attend::read_file(argv[2]) == page) return 0;
    std::fprintf(stderr, "%s is not what fields-table prints: run `fields-table >%s`\n", argv[2], argv[2]);
    return 1;
  }
  std::fputs(page.c_str(), stdout);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
