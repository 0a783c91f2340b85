#include "serve/routes/page_routes.h"

namespace attend::serve {
namespace {

Json figures_of(const ServedModel& model) {
  Json status = {{"name", model.name()},
                 {"adapters", model.adapters()},
                 {"architecture", model.model().architecture()},
                 {"generates", model.queue() != nullptr}};
  if (model.queue() == nullptr) return status;
  const QueueStatus now = model.queue()->status();
  status.update({{"converses", model.queue()->no_conversations().empty()},
                 {"running", now.running},
                 {"waiting", now.waiting},
                 {"steps", now.steps},
                 {"new_tokens", model.figures().new_tokens()},
                 {"cache_pages_used", now.pages_in_use},
                 {"cache_pages", now.max_pages}});
  return status;
}

}  // namespace

void add_page_routes(Server& server, const ServedModels& models) {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  server.add({.method = Method::get,
              .path = "/",
              .group = "server",
              .summary = "A page to try the models and to see what they are at",
              .reply = text(),
              .type = "text/html; charset=utf-8",
              .is_open = true,
              .is_quick = true},
             [](const Fields&) -> Reply {
               return {std::string(server_page()), "text/html; charset=utf-8"};
             });
  server.add({.method = Method::get,
              .path = "/v1/status",
              .group = "server",
              .summary = "What each model is at: requests, cache, tokens",
              .reply = object({{"models", list(any_object())}}, {"models"}),
              .is_quick = true},
             [&models](const Fields&) {
               Json all = Json::array();
               for (const auto& model : models.all()) all.push_back(figures_of(*model));
               return reply({{"models", all}});
             });
}

}  // namespace attend::serve
