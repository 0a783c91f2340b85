#include "serve/routes/status_routes.h"

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

using Status = const QueueStatus&;

// One metric of every model that generates text.
template <class Figure>
void add_figure(MetricPage& page, const ServedModels& models, const char* name, const char* kind,
                const char* help, const Figure& figure) {
  for (const auto& model : models.all())
    if (model->queue() != nullptr)
      page.add(name, kind, help,
               fmt::format("{}{} {}\n", name, in_braces({{"model", model->name()}}),
                           figure(model->queue()->status())));
}

std::string metrics(const Server& server, const ServedModels& models) {
  MetricPage page;
  add_figure(page, models, "attend_texts_running", "gauge", "Requests whose texts grow now.",
             [](Status s) { return s.running; });
  add_figure(page, models, "attend_texts_waiting", "gauge", "Requests for texts that wait.",
             [](Status s) { return s.waiting; });
  add_figure(page, models, "attend_steps_total", "counter", "Times that all running texts got a token.",
             [](Status s) { return s.steps; });
  add_figure(page, models, "attend_preemptions_total", "counter",
             "Requests that began again for want of memory.", [](Status s) { return s.preemptions; });
  add_figure(page, models, "attend_cache_pages_used", "gauge", "Pages of keys and values in use.",
             [](Status s) { return s.pages_in_use; });
  add_figure(page, models, "attend_cache_pages", "gauge", "Pages of keys and values there may be.",
             [](Status s) { return s.max_pages; });
  for (const auto& model : models.all())
    if (model->queue() != nullptr)
      model->figures().write(model->name(), model->queue()->status(),
                             [&](const char* name, const char* kind, const char* help,
                                 const std::string& lines) { page.add(name, kind, help, lines); });
  return server.metrics() + page.text();
}

Endpoint get(const char* path, const char* summary, Json reply) {
  return {.method = Method::get,
          .path = path,
          .group = "server",
          .summary = summary,
          .reply = std::move(reply),
          .is_quick = true};
}

Json status_schema() {
  return schema::object({{"status", schema::text()}}, {"status"});
}

}  // namespace

void add_status_routes(Server& server, const ServedModels& models) {
  Endpoint health = get("/health", "Whether the server answers", status_schema());
  health.is_open = true;
  server.add(health, [](const Fields&) { return reply({{"status", "ok"}}); });

  Endpoint ready =
      get("/ready", "Whether it takes requests for all models: not while they are loaded, nor while it stops",
          status_schema());
  ready.is_open = true;
  server.add(ready, [&server, &models](const Fields&) {
    if (server.is_stopping()) refuse(503, "the server is stopping");
    if (const std::vector<std::string> more = models.loading(); !more.empty())
      refuse(503, fmt::format("{}: not loaded yet", fmt::join(more, ", ")));
    return reply({{"status", "ready"}});
  });

  const Json model = schema::any_object();
  server.add(
      get("/v1/models", "The models and their adapters",
          schema::object({{"object", schema::text()}, {"data", schema::list(model)}}, {"object", "data"})),
      [&models](const Fields&) { return reply(models.list()); });
  Endpoint one = get("/v1/models/{model}", "One of them", model);
  one.fields = {{"model", schema::name(), "its name", true}};
  server.add(one, [&models](const Fields& request) { return reply(models.entry(request.text({"model"}))); });

  Endpoint figures = get("/metrics", "Figures for Prometheus", schema::text());
  figures.type = "text/plain; version=0.0.4";
  server.add(figures, [&server, &models, type = figures.type](const Fields&) -> Reply {
    return {metrics(server, models), type};
  });

  server.add(get("/openapi.json", "All paths and their fields, for programs", schema::any_object()),
             [&server](const Fields&) { return reply(openapi(server.endpoints(), server.has_keys())); });
}

}  // namespace attend::serve
