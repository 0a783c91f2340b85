// attend serve MODEL...: models for other programs, over HTTP.
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/model_option.h"
#include "cli/serve_tasks.h"
#include "cli/verb.h"
#include "serve/status_routes.h"
#include "serve/text_routes.h"
#include "serve/vector_routes.h"

#include <algorithm>
#include <cstdlib>

namespace attend::cli {
namespace {

// DIR or NAME=DIR.
serve::NamedModel read_model(const std::string& given, const ModelPath& options) {
  serve::NamedModel model{{}, options};
  const std::size_t equals = given.find('=');
  const bool named = equals != given.npos && !std::filesystem::exists(given);
  if (named) model.name = given.substr(0, equals);
  model.path.directory = named ? given.substr(equals + 1) : given;
  return model;
}

bool converses(const std::unique_ptr<serve::ServedModel>& model) {
  return model->queue() != nullptr && model->queue()->no_conversations().empty();
}

}  // namespace

int serve(int argc, char** argv) {
  std::vector<std::string> given;
  ModelPath options;
  serve::ServerOptions server_options;
  QueueOptions queue_options;
  std::size_t most_waiting = 256;
  std::int64_t cache_bytes = 0;  // not said
  Parser parser(
      "serve",
      "Answers other programs over HTTP, with models that stay in memory: "
      "/v1/completions, /v1/chat/completions and /v1/embeddings as OpenAI's API has them, "
      "/v1/run/TASK for the tasks of `attend run`, /tokenize, /detokenize, /v1/models, /health and "
      "/metrics. Requests that come at the same time are computed together. Ctrl-C ends it when all "
      "that was asked is answered.",
      "attend serve gpt2 all-MiniLM-L6-v2 --port 8080 --weights int8");
  CLI::App& app = parser.app();
  app.add_option(
         "model", given,
         "Model directories or GGUF files. Requests call them as their directories are called; NAME=MODEL: "
         "by this name")
      ->required();
  add_model_options(app, options);
  add_cache(app, options);
  app.add_option("--host", server_options.host, "The address to listen on; 0.0.0.0: all of this machine's");
  app.add_option("--port", server_options.port, "The port; 0: any that is free")->check(CLI::Range(0, 65535));
  app.add_option(
      "--key", server_options.key,
      "What requests have to show (Authorization: Bearer KEY); else what ATTEND_KEY says, if it is set");
  app.add_option(
      "--template", queue_options.chat_template,
      "How a turn of a chat is written: text with {user} and {bot}, and perhaps {system} in front, or "
      "Jinja; otherwise the model's chat_template");
  app.add_option("--cache-memory", cache_bytes,
                 "For keys and values of a model at most so much memory, such as 500MB; else half of the "
                 "machine's")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(positive());
  app.add_option("--max-waiting", most_waiting,
                 "Requests for texts that may wait; more are told to come later")
      ->check(positive());
  app.add_option("--max-connections", server_options.connections, "Connections at a time; more have to wait")
      ->check(CLI::Range(1, 10000));
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (cache_bytes > 0) queue_options.cache_bytes = cache_bytes;
  if (const char* key = std::getenv("ATTEND_KEY"); key != nullptr && server_options.key.empty())
    server_options.key = key;
  if (given.size() > 1 && !options.adapters.empty())
    fail("--adapter: expected one model, which the adapter was made for, found {}: serve it alone",
         given.size());

  catch_interrupts();
  serve::Server server(server_options);  // first, for a port that is taken is found out at once
  std::vector<serve::NamedModel> named;
  for (const std::string& each : given) named.push_back(read_model(each, options));
  serve::ServedModels models(named, queue_options);
  if (!queue_options.chat_template.empty() && !std::ranges::any_of(models.all(), converses))
    fail("--template: expected a decoder, which can have conversations, found none");
  serve::add_text_routes(server, models, most_waiting);
  serve::add_embedding_route(server, models);
  serve::add_token_routes(server, models);
  add_task_routes(server, models);
  serve::add_status_routes(server, models);
  inform("listening on {}", server.address());
  server.run();
  return 0;
}

}  // namespace attend::cli
