#include "serve/status_routes.h"

#include <fmt/format.h>

namespace attend::serve {
namespace {

// One figure of every model that generates text.
template <class Figure>
std::string of_queues(const ServedModels& models, const char* name, const char* kind, const char* help,
                      const Figure& figure) {
  std::string text = fmt::format("# HELP attend_{0} {1}\n# TYPE attend_{0} {2}\n", name, help, kind);
  for (const auto& model : models.all())
    if (model->queue() != nullptr)
      text += fmt::format("attend_{}{{model=\"{}\"}} {}\n", name, model->name(),
                          figure(model->queue()->status()));
  return text;
}

std::string metrics(const Server& server, const ServedModels& models) {
  using Status = const QueueStatus&;
  return server.metrics() +
         of_queues(models, "texts_running", "gauge", "Requests whose texts grow now.",
                   [](Status s) { return s.running; }) +
         of_queues(models, "texts_waiting", "gauge", "Requests for texts that wait.",
                   [](Status s) { return s.waiting; }) +
         of_queues(models, "steps_total", "counter", "Times that all running texts got a token.",
                   [](Status s) { return s.steps; }) +
         of_queues(models, "preemptions_total", "counter", "Requests that began again for want of memory.",
                   [](Status s) { return s.preemptions; }) +
         of_queues(models, "cache_pages_used", "gauge", "Pages of keys and values in use.",
                   [](Status s) { return s.pages_in_use; }) +
         of_queues(models, "cache_pages", "gauge", "Pages of keys and values there may be.",
                   [](Status s) { return s.max_pages; });
}

}  // namespace

void add_status_routes(Server& server, const ServedModels& models) {
  server.get("/health", [] { return reply({{"status", "ok"}}); });
  server.get("/v1/models", [&models] { return reply(models.list()); });
  server.get("/metrics", [&server, &models]() -> Reply {
    return {metrics(server, models), "text/plain; version=0.0.4"};
  });
}

}  // namespace attend::serve
