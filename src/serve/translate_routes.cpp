#include "serve/translate_routes.h"

#include "base/error.h"
#include "serve/language_pairs.h"

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

using AllLanguages = std::vector<ModelLanguages>;

std::map<std::string, std::set<std::string>> language_targets(const AllLanguages& all) {
  std::map<std::string, std::set<std::string>> targets;
  for (const ModelLanguages& each : all)
    for (const std::string& source : each.sources())
      targets[source].insert(each.targets().begin(), each.targets().end());
  return targets;
}

Json list_languages(const AllLanguages& all) {
  Json languages = Json::array();
  for (const auto& [source, targets] : language_targets(all))
    languages.push_back({{"code", source}, {"name", source}, {"targets", targets}});
  return languages;
}

const ModelLanguages& find_translator(const AllLanguages& all, const Fields& body) {
  const std::string source = body.text({"source"}), target = body.text({"target"});
  if (source == "auto")
    fail("source: no model here recognizes languages: expected the code of one, see /languages");
  const std::string name = body.text({"model"}, "");
  for (const ModelLanguages& each : all)
    if ((name.empty() || name == each.model().name()) && each.translates(source, target)) return each;
  std::vector<std::string> pairs;
  for (const ModelLanguages& each : all)
    if (!each.sources().empty())
      pairs.push_back(
          each.many() ? fmt::format("{} (between {} languages)", each.model().name(), each.sources().size())
                      : *each.sources().begin() + " to " + *each.targets().begin());
  refuse(404, fmt::format("no model here translates from {} to {}; there are {}", source, target,
                          pairs.empty() ? "none that translate" : fmt::format("{}", fmt::join(pairs, ", "))));
}

// Gathers what the queue's thread brings.
class Translations {
 public:
  Translations(std::size_t texts, bool is_one, std::size_t alternatives)
      : texts_(texts), open_(texts), is_one_(is_one), alternatives_(alternatives) {}

  const std::shared_ptr<Pipe>& pipe() const { return pipe_; }

  void end(std::size_t number, const QueueResult& result) try {
    if (over_) return;
    over_ = result.end != QueueEnd::finished;
    if (result.end == QueueEnd::cancelled) return pipe_->break_off();
    if (result.end == QueueEnd::failed) return pipe_->fail(result.error);
    for (const GeneratedText& text : result.texts) texts_[number].push_back(text.text);
    if (--open_ == 0) pipe_->end(written(answer()));
  } catch (...) {
    over_ = true;
    pipe_->fail(std::current_exception());
  }

 private:
  Json answer() const {
    Json first = Json::array(), others = Json::array();
    for (const std::vector<std::string>& all : texts_) {
      first.push_back(all.front());
      others.push_back(std::vector<std::string>(all.begin() + 1, all.end()));
    }
    Json answer = {{"translatedText", is_one_ ? first.front() : first}};
    if (alternatives_ > 0) answer["alternatives"] = is_one_ ? others.front() : others;
    return answer;
  }

  std::vector<std::vector<std::string>> texts_;
  std::size_t open_;
  bool is_one_, over_ = false;
  std::size_t alternatives_;
  const std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
};

// As the model's generation_config.json says; alternatives are the next best of a beam search.
std::string translation_settings(const ServedModel& model, std::int64_t alternatives) {
  const OwnSettings& own = model.own_settings();
  Json settings = {{"num_return_sequences", 1 + alternatives}};
  if (!own.limits_length) settings["max_new_tokens"] = 256;
  if (alternatives > 0) settings["num_beams"] = std::max(own.beams, 1 + alternatives);
  return settings.dump();
}

Reply translate(const AllLanguages& all, const Fields& body, std::size_t most_waiting) {
  const ModelLanguages& languages = find_translator(all, body);
  GenerationQueue& queue = *languages.model().queue();
  if (queue.status().waiting >= most_waiting)
    refuse(429, fmt::format("{} requests are waiting already: come again later", most_waiting));
  const std::vector<std::string> texts = body.texts({"q"});
  if (texts.size() > most_waiting) fail("q: expected at most {} texts, found {}", most_waiting, texts.size());
  const std::int64_t alternatives = body.integer({"alternatives"}, 0, 0);
  const auto answer = std::make_shared<Translations>(texts.size(), body.json().at("q").is_string(),
                                                     static_cast<std::size_t>(alternatives));
  std::vector<GenerationQueue::Ticket> tickets;
  const auto cancel = [&queue](const std::vector<GenerationQueue::Ticket>& some) {
    for (const GenerationQueue::Ticket ticket : some) queue.cancel(ticket);
  };
  TextFigures& figures = languages.model().figures();
  try {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      QueueRequest request;
      request.prompt = texts[i];
      request.settings = translation_settings(languages.model(), alternatives);
      if (languages.many()) {
        request.source_language = body.text({"source"});
        request.target_language = body.text({"target"});
      }
      if (!languages.model().adapters().empty()) request.adapter = -1;
      request.on_end = [answer, i, &figures](const QueueResult& result) {
        figures.add(result);
        answer->end(i, result);
      };
      tickets.push_back(queue.submit(std::move(request)));
    }
  } catch (...) {
    cancel(tickets);
    throw;
  }
  answer->pipe()->on_gone([cancel, tickets] { cancel(tickets); });
  return {{}, "application/json", answer->pipe()};
}

}  // namespace

void add_translate_routes(Server& server, const ServedModels& models, std::size_t most_waiting) {
  const auto all = std::make_shared<AllLanguages>();
  for (const auto& model : models.all()) all->emplace_back(*model);
  const RequestField key = {"api_key", text(), "has no effect; see --key"};
  Endpoint endpoint = {
      .path = "/translate",
      .group = "translation",
      .summary = "Texts in another language, as LibreTranslate has it",
      .fields = {{"q", any_of({name(), list(name(), 1)}), "a text or several", true},
                 {"source", name(), "its language: a code of /languages", true},
                 {"target", name(), "that of the translation", true},
                 {"format", one_of({"text"}), "there is text alone"},
                 {"alternatives", integer(0, 20), "number of further translations of each text"},
                 {"model", text(), "where several models translate between these languages: which one"},
                 key},
      .reply = {{"type", "object"}, {"required", {"translatedText"}}},
      .is_form = true};
  server.add(endpoint,
             [all, most_waiting](const Fields& body) { return translate(*all, body, most_waiting); });

  const Json language =
      object({{"code", text()}, {"name", text()}, {"targets", list(text())}}, {"code", "name", "targets"});
  server.add({.method = Method::get,
              .path = "/languages",
              .group = "translation",
              .summary = "The languages of all models that translate",
              .reply = list(language)},
             [all](const Fields&) { return reply(list_languages(*all)); });

  server.add({.path = "/detect",
              .group = "translation",
              .summary = "Not there: no model here recognizes languages (501)",
              .fields = {{"q", any_of({text(), list(text())}), "a text or several", true}, key},
              .is_form = true,
              .is_listed = false},
             [](const Fields&) -> Reply { refuse(501, "no model here recognizes the language of a text"); });
}

}  // namespace attend::serve
