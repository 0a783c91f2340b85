#include "serve/routes/judge_routes.h"

#include "base/error.h"
#include "serve/models/text_judge.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <numeric>
#include <random>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

std::string new_judgement_id(const char* kind) {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{}-{:08x}{:08x}", kind, begin, ++count);
}

Json usage(std::size_t tokens) {
  return {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
}

// A text, or an object with one.
std::string document_text(const Json& document) {
  return document.is_string() ? document.get<std::string>() : document.at("text").get<std::string>();
}

TextJudge::Options read_judge_options(const Fields& body, const ChosenModel& chosen) {
  TextJudge::Options options{.adapter = chosen.adapter, .truncate = body.flag({"truncate"}, true)};
  if (body.flag({"raw_scores"}, false)) options.function = ScoreFunction::none;
  return options;
}

struct Ranking {
  std::vector<std::string> documents;
  std::vector<float> scores;
  std::vector<std::size_t> order;  // the best first
  std::size_t tokens = 0;
};

Ranking rank(const ChosenModel& chosen, const Fields& body, const char* field) {
  TextJudge& judge = chosen.model.judge();
  const TextJudge::Options options = read_judge_options(body, chosen);
  Ranking ranking;
  std::vector<TextAndPair> pairs;
  for (const Json& document : body.json().at(field)) {
    ranking.documents.push_back(document_text(document));
    pairs.push_back({body.text({"query"}), ranking.documents.back()});
  }
  ranking.scores = judge.match(pairs, options);
  ranking.tokens = judge.count_tokens(pairs, options);
  ranking.order.resize(pairs.size());
  std::iota(ranking.order.begin(), ranking.order.end(), 0);
  std::ranges::stable_sort(ranking.order, std::greater{}, [&](std::size_t i) { return ranking.scores[i]; });
  const auto most = body.maybe_integer({"top_n"}, 1);
  if (most) ranking.order.resize(std::min(ranking.order.size(), static_cast<std::size_t>(*most)));
  return ranking;
}

Reply rerank(const ChosenModel& chosen, const Fields& body) {
  const Ranking ranking = rank(chosen, body, "documents");
  Json results = Json::array();
  for (const std::size_t i : ranking.order) {
    Json& result = results.emplace_back(Json{{"index", i}, {"relevance_score", ranking.scores[i]}});
    if (body.flag({"return_documents"}, false)) result["document"] = {{"text", ranking.documents[i]}};
  }
  return reply({{"id", new_judgement_id("rerank")},
                {"model", chosen.name},
                {"results", std::move(results)},
                {"usage", usage(ranking.tokens)},
                {"meta", {{"api_version", {{"version", "2"}}}}}});
}

// A list, as in text-embeddings-inference.
Reply rerank_texts(const ChosenModel& chosen, const Fields& body) {
  const Ranking ranking = rank(chosen, body, "texts");
  Json results = Json::array();
  for (const std::size_t i : ranking.order) {
    Json& result = results.emplace_back(Json{{"index", i}, {"score", ranking.scores[i]}});
    if (body.flag({"return_text"}, false)) result["text"] = ranking.documents[i];
  }
  return reply(results);
}

// One text with each of several, on either side, or the texts of both lists pair by pair.
Reply score(const ChosenModel& chosen, const Fields& body) {
  std::vector<std::string> first = body.texts({"text_1"});
  std::vector<std::string> second = body.texts({"text_2"});
  if (first.size() == 1) first.resize(second.size(), first.front());
  if (second.size() == 1) second.resize(first.size(), second.front());
  if (first.size() != second.size())
    fail("text_2: expected as many texts as text_1 has ({}), found {}", first.size(), second.size());
  std::vector<TextAndPair> pairs;
  for (std::size_t i = 0; i < first.size(); ++i) pairs.push_back({first[i], second[i]});
  TextJudge& judge = chosen.model.judge();
  const TextJudge::Options options = read_judge_options(body, chosen);
  const std::vector<float> scores = judge.match(pairs, options);
  Json data = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i)
    data.push_back({{"index", i}, {"object", "score"}, {"score", scores[i]}});
  return reply({{"id", new_judgement_id("score")},
                {"object", "list"},
                {"created", std::time(nullptr)},
                {"model", chosen.name},
                {"data", std::move(data)},
                {"usage", usage(judge.count_tokens(pairs, options))}});
}

Reply classify(const ChosenModel& chosen, const Fields& body) {
  std::vector<TextAndPair> texts;
  for (const std::string& text : body.texts({"input"})) texts.push_back({text});
  TextJudge& judge = chosen.model.judge();
  const TextJudge::Options options = read_judge_options(body, chosen);
  const std::vector<std::string> labels = judge.labels(chosen.adapter);
  Json data = Json::array();
  for (const auto& scores : judge.classify(texts, options)) {
    Json probs = Json::array();
    for (const std::string& label : labels)
      probs.push_back(std::ranges::find(scores, label, &LabelScore::label)->score);
    data.push_back({{"index", data.size()},
                    {"label", scores.front().label},
                    {"probs", std::move(probs)},
                    {"num_classes", labels.size()}});
  }
  return reply({{"id", new_judgement_id("classify")},
                {"object", "list"},
                {"created", std::time(nullptr)},
                {"model", chosen.name},
                {"data", std::move(data)},
                {"usage", usage(judge.count_tokens(texts, options))}});
}

RequestFields common_fields(const ServedModels& models) {
  return {models.field(),
          {"truncate", flag(), "cut texts that are longer than the model reads, unless false"},
          {"raw_scores", flag(), "the numbers of a classifier as they are"},
          {"user", text(), "has no effect"}};
}

Endpoint judging(const char* path, const char* summary, RequestFields own, const ServedModels& models,
                 Json reply) {
  return {.path = path,
          .group = "labels",
          .summary = summary,
          .fields = std::move(own) + common_fields(models),
          .reply = std::move(reply)};
}

Json listing() {
  return {
      {"type", "object"},
      {"properties", {{"object", one_of({"list"})}, {"data", list(any_object())}, {"usage", any_object()}}},
      {"required", {"object", "data", "usage"}}};
}

RequestField query() {
  return {"query", name(), "what is looked for", true};
}

}  // namespace

void add_judge_routes(Server& server, const ServedModels& models) {
  using Answer = Reply (*)(const ChosenModel&, const Fields&);
  const auto add = [&](const char* path, const char* summary, const RequestFields& fields, const Json& shape,
                       Answer answer) {
    server.add(judging(path, summary, fields, models, shape),
               [&models, answer](const Fields& body) { return answer(models.find(body), body); });
  };
  const Json document = any_of({name(), object({{"text", name()}}, {"text"})});
  const RequestFields ranking = {
      query(),
      {"documents", list(document, 1), "the texts to be put in order", true, true},
      {"top_n", integer(1), "number of documents in the answer, best first; otherwise all"},
      {"return_documents", flag(), "each result has its text"}};
  const Json ranked = {
      {"type", "object"}, {"properties", {{"results", list(any_object())}}}, {"required", {"results"}}};
  for (const char* path : {"/v1/rerank", "/v2/rerank"})
    add(path, "Texts in the order in which they answer a query, as Cohere has it", ranking, ranked, rerank);
  add("/rerank", "The same, as text-embeddings-inference has it",
      {query(),
       {"texts", list(name(), 1), "the texts to be put in order", true, true},
       {"return_text", flag(), "each result has its text"},
       {"truncation_direction", one_of({"right", "Right"}), "texts lose their end"}},
      list(any_object()), rerank_texts);
  const Json texts = any_of({name(), list(name(), 1)});
  add("/v1/score", "How well texts match, as vLLM has it",
      {{"text_1", texts, "a text, or as many as text_2 has", true, true},
       {"text_2", texts, "a text or several", true, true}},
      listing(), score);
  add("/v1/classify", "The labels of texts, as vLLM has it",
      {{"input", texts, "a text or several", true, true}}, listing(), classify);
}

}  // namespace attend::serve
