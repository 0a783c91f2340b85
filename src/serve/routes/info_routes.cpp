#include "serve/routes/info_routes.h"

#include <attend/version.h>

#include "serve/models/text_judge.h"
#include "sources/sentence_modules.h"

namespace attend::serve {
namespace {

Json labels_json(const std::vector<std::string>& labels) {
  Json by_id = Json::object(), by_label = Json::object();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    by_id[std::to_string(i)] = labels[i];
    by_label[labels[i]] = i;
  }
  return {{"id2label", by_id}, {"label2id", by_label}};
}

// A classifier with one label ranks pairs.
Json type_of(ServedModel& model) {
  if (model.judge().has_labels()) {
    const std::vector<std::string> labels = model.judge().labels({});
    return {{labels.size() == 1 ? "reranker" : "classifier", labels_json(labels)}};
  }
  const SentenceDirectory directory = read_sentence_directory(ModelDirectory(ModelPath(model.model())));
  const std::vector<SentencePooling::Mode>& modes = directory.modules.front().modes;
  const std::string pooling = modes.empty() ? "splade" : pooling_name(modes.front());
  return {{"embedding", {{"pooling", pooling == "lasttoken" ? "last_token" : pooling}}}};
}

Json info(const Server& server, const ServedModels& models) {
  const auto all = models.all();
  if (all.empty()) refuse(503, "no model is loaded yet: try again later");
  ServedModel& first = *all.front();
  const auto max_tokens = first.judge().max_tokens();
  return {{"model_id", first.name()},
          {"model_sha", nullptr},
          {"model_dtype", "float32"},
          {"model_type", type_of(first)},
          {"max_concurrent_requests", server.options().requests},
          {"max_input_length", max_tokens ? Json(*max_tokens) : Json()},
          {"max_client_batch_size", server.options().inputs},
          {"auto_truncate", true},
          {"version", ATTEND_VERSION}};
}

}  // namespace

void add_info_route(Server& server, const ServedModels& models) {
  server.add({.method = Method::get,
              .path = "/info",
              .group = "server",
              .summary = "What the first model is, as text-embeddings-inference says it",
              .reply = schema::open_object({{"model_id", schema::text()},
                                            {"model_type", schema::any_object()},
                                            {"max_client_batch_size", schema::integer(1)}},
                                           {"model_id", "model_type"})},
             [&server, &models](const Fields&) { return reply(info(server, models)); });
}

}  // namespace attend::serve
