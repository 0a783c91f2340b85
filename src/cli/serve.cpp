// attend serve MODEL...: serves models to other programs over HTTP.
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "serve/http/request_log.h"
#include "serve/routes/adapter_routes.h"
#include "serve/routes/explain_routes.h"
#include "serve/routes/info_routes.h"
#include "serve/routes/judge_routes.h"
#include "serve/routes/page_routes.h"
#include "serve/routes/response_routes.h"
#include "serve/routes/status_routes.h"
#include "serve/routes/task_routes.h"
#include "serve/routes/text_routes.h"
#include "serve/routes/token_routes.h"
#include "serve/routes/translate_routes.h"
#include "serve/routes/vector_routes.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

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

bool converses(const std::shared_ptr<serve::ServedModel>& model) {
  return model->queue() != nullptr && model->queue()->no_conversations().empty();
}

// The server answers while models are loading: requests for a model as soon as it is loaded.
void run_and_load(serve::Server& server, serve::ServedModels& models, const QueueOptions& options) {
  std::exception_ptr problem;
  std::thread loader([&] {
    try {
      models.load();
      if (!models.loading().empty()) return;  // interrupted
      if (!options.chat_template.empty() && !std::ranges::any_of(models.all(), converses))
        fail("--template: expected a decoder model, found none");
      inform("listening on {}", server.address());
    } catch (...) {
      problem = std::current_exception();
      server.stop();
    }
  });
  server.run();
  loader.join();
  if (problem) std::rethrow_exception(problem);
}

struct ServeArguments {
  std::vector<std::string> models;
  ModelPath options;
  serve::ServerOptions server;
  QueueOptions queue;
  serve::TextBounds texts;
  serve::AdapterLoading adapters;
  serve::ExplainBounds explanations;
  std::int64_t cache_bytes = 0;  // 0: not given
  std::string key, key_file;
  bool logs_as_json = false;

  ServeArguments() { queue.max_queue_seconds = 300; }
};

void add_connection_options(CLI::App& app, ServeArguments& given) {
  serve::ServerOptions& server = given.server;
  app.add_option("--host", server.host, "Address to listen on; 0.0.0.0: all addresses of this machine");
  app.add_option("--port", server.port, "Port; 0: any free port")->check(CLI::Range(0, 65535));
  app.add_option("--socket", server.socket,
                 "Path of a Unix socket to create and listen on, instead of an address and a port");
  app.add_option("--tls-certificate", server.certificate, "Use TLS: a PEM file with the certificate chain");
  app.add_option("--tls-key", server.private_key, "With --tls-certificate: a PEM file with the private key");
  app.add_option("--key", given.key,
                 "API key that requests must send (Authorization: Bearer KEY); default: the variable "
                 "ATTEND_KEY, if set");
  app.add_option("--key-file", given.key_file, "A file with API keys, one per line; any of them is accepted");
  app.add_option("--cors", server.origins,
                 "Origins whose web pages may send requests (CORS), such as https://example.org; '*': all")
      ->allow_extra_args(false);
  app.add_option("--drain-seconds", server.drain_seconds,
                 "Seconds after SIGTERM or Ctrl-C in which requests in flight may finish")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option_function<std::string>(
         "--log-format", [&given](const std::string& format) { given.logs_as_json = format == "json"; },
         "json: one JSON object per request and message; text: messages only")
      ->check(CLI::IsMember({"text", "json"}));
}

// Every resource has a limit.
void add_bounds(CLI::App& app, ServeArguments& given) {
  serve::ServerOptions& server = given.server;
  const auto size = [&](const char* name, std::size_t& value, const char* help) {
    app.add_option(name, value, help)->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))->check(positive());
  };
  const auto seconds = [&](const char* name, double& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::Range(0.1, 86400.0));
  };
  app.add_option("--max-connections", server.connections, "Max connections at a time; more get status 503")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--max-requests", server.requests, "Max requests in flight or waiting; more get status 429")
      ->check(positive());
  app.add_option("--max-waiting", given.texts.waiting,
                 "Max prompts that wait for a model; more get status 429")
      ->check(positive());
  app.add_option("--max-waiting-tokens", given.texts.waiting_tokens,
                 "Max tokens of the prompts that wait for a model; more get status 429")
      ->check(positive());
  app.add_option("--max-queue-seconds", given.queue.max_queue_seconds,
                 "Seconds that a prompt may wait for a model; then it gets status 503; 0: no limit")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--max-inputs", server.inputs, "Max texts in a request, such as texts to embed")
      ->check(positive());
  app.add_option("--max-prompt-tokens", given.queue.max_prompt_tokens,
                 "Max tokens of a prompt; default: the model's maximum")
      ->check(positive());
  app.add_option("--max-new-tokens", given.texts.new_tokens,
                 "Max new tokens of a request, times its beams or texts, times its prompts")
      ->check(positive());
  app.add_option("--max-explained-tokens", given.explanations.tokens, "Max tokens of a text to explain")
      ->check(positive());
  app.add_option("--worker-threads", server.threads,
                 "Number of threads that parse requests, embed and classify")
      ->check(CLI::Range(1, 1024));
  size("--max-header", server.largest_header, "Max size of a request's header, such as 32KB");
  size("--max-body", server.largest_body, "Max size of a request's body, such as 64MB");
  size("--max-bodies", server.all_bodies,
       "Max size of the bodies of all requests together; more get status 503");
  seconds("--idle-seconds", server.idle_seconds, "Seconds that a connection may be idle");
  seconds("--header-seconds", server.header_seconds, "Max seconds to receive a request's header");
  seconds("--body-seconds", server.body_seconds, "Max seconds to receive a request's body");
  seconds("--write-seconds", server.write_seconds,
          "Max seconds that a client takes to read the next 64 KB of a reply");
}

void add_options(CLI::App& app, ServeArguments& given) {
  app.add_option(
         "model", given.models,
         "Model directories or GGUF files. A model is named after its directory or file; NAME=MODEL sets "
         "another name")
      ->required();
  add_model_options(app, given.options);
  add_cache(app, given.options);
  add_connection_options(app, given);
  app.add_option("--template", given.queue.chat_template,
                 "Format of a turn: text with {user} and {bot}, optionally {system} at the start, or a Jinja "
                 "template; default: the model's chat_template");
  app.add_option("--cache-memory", given.cache_bytes,
                 "Max memory of a model's KV cache, such as 500MB; default: half of the machine's memory")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(positive());
  app.add_option(
         "--prompt-step-tokens", given.queue.prompt_step_tokens,
         "Max prompt tokens that a model reads between two generation steps, at least 32; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--allow-adapter-loading", given.adapters.directory,
                 "Directory whose adapters may be loaded and unloaded while the server runs "
                 "(/v1/load_lora_adapter, /v1/unload_lora_adapter)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--max-adapters", given.adapters.max_adapters,
                 "Max adapters per model, with those of --allow-adapter-loading")
      ->check(positive());
  add_bounds(app, given);
}

std::vector<std::string> read_keys(const ServeArguments& given) {
  std::vector<std::string> keys;
  if (!given.key_file.empty()) {
    std::istringstream lines(read_file(given.key_file));
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) keys.push_back(line);
    }
    if (keys.empty()) fail("{}: expected API keys, one per line, found none", given.key_file);
  }
  if (!given.key.empty())
    keys.push_back(given.key);
  else if (const char* key = std::getenv("ATTEND_KEY"); key != nullptr && *key != 0)
    keys.emplace_back(key);
  return keys;
}

}  // namespace

int serve(int argc, char** argv) {
  ServeArguments given;
  Parser parser("serve",
                "Serves models over HTTP. It has the endpoints of OpenAI's API (/v1/completions, "
                "/v1/chat/completions, /v1/embeddings and others) and the tasks of `attend run` "
                "(/v1/run/TASK); /openapi.json lists all endpoints. Requests are batched. Ctrl-C stops it "
                "after the requests in flight.",
                "attend serve gpt2 all-MiniLM-L6-v2 --port 8080 --weights int8");
  add_options(parser.app(), given);
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (given.cache_bytes > 0) given.queue.cache_bytes = given.cache_bytes;
  given.server.keys = read_keys(given);
  given.server.logs_requests = given.logs_as_json;
  if (given.models.size() > 1 && !given.options.adapters.empty())
    fail("--adapter: expected one model, found {}; serve the adapter's base model alone",
         given.models.size());
  if (given.logs_as_json) serve::log_as_json();

  catch_interrupts();
  serve::Server server(given.server);  // first, so that a port in use is reported immediately
  std::vector<serve::NamedModel> named;
  for (const std::string& each : given.models) named.push_back(read_model(each, given.options));
  serve::ServedModels models(named, given.queue);
  serve::add_text_routes(server, models, given.texts);
  serve::add_response_route(server, models, given.texts);
  serve::add_vector_routes(server, models);
  serve::add_token_routes(server, models);
  serve::add_judge_routes(server, models);
  serve::add_explain_routes(server, models, given.explanations);
  serve::add_translate_routes(server, models, given.texts);
  serve::add_task_routes(server, models);
  if (!given.adapters.directory.empty()) serve::add_adapter_routes(server, models, given.adapters);
  serve::add_status_routes(server, models);
  serve::add_info_route(server, models);
  serve::add_page_routes(server, models);
  run_and_load(server, models, given.queue);
  return 0;
}

}  // namespace attend::cli
