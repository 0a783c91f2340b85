#include "serve/routes/judge_routes.h"

#include "base/error.h"
#include "formats/json/json_floats.h"
#include "serve/models/text_judge.h"
#include "serve/routes/reply_ids.h"

#include <algorithm>
#include <ctime>
#include <numeric>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

Json usage(std::size_t tokens) {
  return {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
}

// A text, or an object with one.
std::string document_text(const Json& document) {
  return document.is_string() ? document.get<std::string>() : document.at("text").get<std::string>();
}

TextJudge::LabelOptions read_label_options(const Fields& body, const ChosenModel& chosen) {
  TextJudge::LabelOptions options{.adapter = chosen.adapter, .truncate = body.flag({"truncate"}, true)};
  if (body.flag({"raw_scores"}, false)) options.function = ScoreFunction::none;
  return options;
}

TextJudge::MatchOptions read_match_options(const Fields& body, const ChosenModel& chosen) {
  TextJudge::MatchOptions options{.adapter = chosen.adapter,
                                  .raw_scores = body.flag({"raw_scores"}, false),
                                  .truncate = body.flag({"truncate"}, true)};
  if (body.has({"prompt"})) options.prompt = body.text({"prompt"});
  if (body.has({"prompt_name"})) options.prompt_name = body.text({"prompt_name"});
  if (options.prompt && options.prompt_name) fail("expected one of prompt and prompt_name, found both");
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
  const TextJudge::MatchOptions options = read_match_options(body, chosen);
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
  const auto max = body.maybe_integer({"top_n"}, 1);
  if (max) ranking.order.resize(std::min(ranking.order.size(), static_cast<std::size_t>(*max)));
  return ranking;
}

Reply rerank(const ChosenModel& chosen, const Fields& body) {
  const Ranking ranking = rank(chosen, body, "documents");
  Json results = Json::array();
  for (const std::size_t i : ranking.order) {
    Json& result =
        results.emplace_back(Json{{"index", i}, {"relevance_score", shortest_double(ranking.scores[i])}});
    if (body.flag({"return_documents"}, false)) result["document"] = {{"text", ranking.documents[i]}};
  }
  return reply({{"id", new_id("rerank-")},
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
    Json& result = results.emplace_back(Json{{"index", i}, {"score", shortest_double(ranking.scores[i])}});
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
  const TextJudge::MatchOptions options = read_match_options(body, chosen);
  const std::vector<float> scores = judge.match(pairs, options);
  Json data = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i)
    data.push_back({{"index", i}, {"object", "score"}, {"score", shortest_double(scores[i])}});
  return reply({{"id", new_id("score-")},
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
  const TextJudge::LabelOptions options = read_label_options(body, chosen);
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
  return reply({{"id", new_id("classify-")},
                {"object", "list"},
                {"created", std::time(nullptr)},
                {"model", chosen.name},
                {"data", std::move(data)},
                {"usage", usage(judge.count_tokens(texts, options))}});
}

// A text, or a pair of texts in a list.
TextAndPair text_or_pair(const Json& input) {
  if (input.is_string()) return {input.get<std::string>()};
  const auto texts = input.get<std::vector<std::string>>();
  if (texts.size() == 1) return {texts.front()};
  return {texts.front(), texts.back()};
}

// As text-embeddings-inference reads them: a list of texts is a pair, and several inputs are a list of lists.
Reply predict(const ChosenModel& chosen, const Fields& body) {
  const Json& inputs = body.json().at("inputs");
  const bool several = inputs.is_array() && inputs.front().is_array();
  std::vector<TextAndPair> texts;
  for (const Json& input : several ? inputs : Json::array({inputs})) texts.push_back(text_or_pair(input));
  Json answers = Json::array();
  for (const auto& scores : chosen.model.judge().classify(texts, read_label_options(body, chosen))) {
    Json answer = Json::array();
    for (const LabelScore& each : scores) answer.push_back({{"score", each.score}, {"label", each.label}});
    answers.push_back(std::move(answer));
  }
  return reply(several ? answers : answers.front());
}

RequestFields common_fields(const ServedModels& models) {
  return {models.field(),
          {"truncate", flag(), "cut texts that are longer than the model reads, unless false"},
          {"raw_scores", flag(), "the numbers of a classifier as they are"},
          {"user", text(), "has no effect"}};
}

RequestField cut_side() {
  return {"truncation_direction", one_of({"right", "Right"}), "texts lose their end"};
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

// A query and what is compared with it.
RequestFields matching(RequestFields fields) {
  return std::move(fields) +
         RequestFields{
             {"prompt", text(), "what to look for, for language models that rank, such as Qwen3-Reranker"},
             {"prompt_name", name(), "another of such a model's prompts"}};
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
  const RequestFields ranking =
      matching({query(),
                {"documents", list(document, 1), "the texts to be put in order", true, true},
                {"top_n", integer(1), "number of documents in the answer, best first; otherwise all"},
                {"return_documents", flag(), "each result has its text"}});
  const Json ranked = open_object({{"results", list(any_object())}}, {"results"});
  for (const char* path : {"/v1/rerank", "/v2/rerank"})
    add(path, "Texts in the order in which they answer a query, as Cohere has it", ranking, ranked, rerank);
  add("/rerank", "The same, as text-embeddings-inference has it",
      matching({query(),
                {"texts", list(name(), 1), "the texts to be put in order", true, true},
                {"return_text", flag(), "each result has its text"},
                cut_side()}),
      list(any_object()), rerank_texts);
  const Json texts = any_of({name(), list(name(), 1)});
  add("/v1/score", "How well texts match, as vLLM has it",
      matching({{"text_1", texts, "a text, or as many as text_2 has", true, true},
                {"text_2", texts, "a text or several", true, true}}),
      listing(), score);
  add("/v1/classify", "The labels of texts, as vLLM has it",
      {{"input", texts, "a text or several", true, true}}, listing(), classify);
  const Json label = object({{"score", number()}, {"label", text()}}, {"score", "label"});
  add("/predict", "The same, as text-embeddings-inference has it",
      {{"inputs", any_of({name(), list(name(), 1, 2), list(list(name(), 1, 2), 1)}),
        "a text, a pair of texts, or a list of lists of one or two texts", true, true},
       cut_side()},
      any_of({list(label), list(list(label))}), predict);
}

}  // namespace attend::serve
