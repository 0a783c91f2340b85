#include "serve/routes/translate_routes.h"

#include "base/error.h"
#include "serve/models/language_detection.h"
#include "serve/models/language_pairs.h"

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

using Models = std::vector<std::shared_ptr<ServedModel>>;

Json list_languages(const Models& all) {
  std::map<std::string, std::set<std::string>> by_source;
  for (const auto& model : all) {
    const ModelLanguages& its = model->languages();
    for (const std::string& source : its.sources())
      by_source[source].insert(its.targets().begin(), its.targets().end());
  }
  Json languages = Json::array();
  for (const auto& [source, targets] : by_source)
    languages.push_back({{"code", source}, {"name", source}, {"targets", targets}});
  return languages;
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::vector<DetectedLanguage> detect(const Models& all, const std::vector<std::string>& texts) {
  if (!detects_languages()) refuse(501, "this server was built without the detection of languages");
  std::set<std::string> likely;
  for (const auto& model : all)
    likely.insert(model->languages().sources().begin(), model->languages().sources().end());
  return detect_languages(joined(texts), likely);
}

Json shown_language(const DetectedLanguage& language) {
  return {{"confidence", language.percent}, {"language", language.code}};
}

// Who translates, and from which language.
struct Translator {
  std::shared_ptr<ServedModel> model;
  std::string source;
  std::optional<DetectedLanguage> detected = {};  // if the request leaves the source open
};

Translator find_translator(const ServedModels& models, const Fields& body) {
  const std::string target = body.text({"target"}), name = body.text({"model"}, "");
  const std::vector<std::string> more = models.loading();  // before all(), so that none is in neither
  const Models all = models.all();
  std::vector<Translator> wanted = {{nullptr, body.text({"source"})}};
  if (wanted.front().source == "auto") {
    wanted.clear();
    for (const DetectedLanguage& each : detect(all, body.texts({"q"})))
      wanted.push_back({nullptr, each.code, each});
    if (wanted.empty()) fail("q: its language is not known: expected its code as source, see /languages");
  }
  for (Translator& each : wanted)
    for (const auto& model : all)
      if ((name.empty() || name == model->name()) && model->languages().translates(each.source, target)) {
        each.model = model;
        return each;
      }
  if (!more.empty()) refuse(503, fmt::format("{}: not loaded yet: try again later", fmt::join(more, ", ")));
  std::vector<std::string> pairs;
  for (const auto& model : all)
    if (const ModelLanguages& its = model->languages(); !its.sources().empty())
      pairs.push_back(its.many()
                          ? fmt::format("{} (between {} languages)", model->name(), its.sources().size())
                          : *its.sources().begin() + " to " + *its.targets().begin());
  refuse(404,
         fmt::format("no model here translates from {} to {}; there are {}", wanted.front().source, target,
                     pairs.empty() ? "none that translate" : fmt::format("{}", fmt::join(pairs, ", "))));
}

// Collects the results from the queue's thread.
class Translations {
 public:
  Translations(std::size_t texts, bool is_one, std::size_t alternatives,
               const std::optional<DetectedLanguage>& detected)
      : texts_(texts), open_(texts), is_one_(is_one), alternatives_(alternatives), detected_(detected) {}

  const std::shared_ptr<Pipe>& pipe() const { return pipe_; }

  void end(std::size_t number, const QueueResult& result) try {
    if (over_) return;
    over_ = result.end != QueueEnd::finished;
    if (result.end == QueueEnd::cancelled) return pipe_->cut_off();
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
    if (detected_) {
      const Json language = shown_language(*detected_);
      answer["detectedLanguage"] = is_one_ ? language : Json(std::vector<Json>(texts_.size(), language));
    }
    return answer;
  }

  std::vector<std::vector<std::string>> texts_;
  std::size_t open_;
  bool is_one_, over_ = false;
  std::size_t alternatives_;
  const std::optional<DetectedLanguage> detected_;
  const std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
};

// According to the model's generation_config.json; alternatives are the next best results of a beam search.
Configure translation_config(const ServedModel& model, std::int64_t alternatives) {
  const OwnSettings& own = model.own_settings();
  Json settings = {{"num_return_sequences", 1 + alternatives}};
  if (!own.limits_length) settings["max_new_tokens"] = 256;
  if (alternatives > 0) settings["num_beams"] = std::max(own.beams, 1 + alternatives);
  return with_fields(settings.dump());
}

Reply translate(const ServedModels& models, const Fields& body, const TextBounds& bounds) {
  const Translator translator = find_translator(models, body);
  const std::shared_ptr<ServedModel>& model = translator.model;
  const std::shared_ptr<const void> place = reserve(*model, body, bounds);
  GenerationQueue& queue = *model->queue();
  const std::vector<std::string> texts = body.texts({"q"});
  if (texts.size() > bounds.waiting)
    fail("q: expected at most {} texts, found {}", bounds.waiting, texts.size());
  const std::int64_t alternatives = body.integer({"alternatives"}, 0, 0);
  const auto answer =
      std::make_shared<Translations>(texts.size(), body.json().at("q").is_string(),
                                     static_cast<std::size_t>(alternatives), translator.detected);
  std::vector<GenerationQueue::Ticket> tickets;
  const auto cancel = [&queue, model](const std::vector<GenerationQueue::Ticket>& some) {
    for (const GenerationQueue::Ticket ticket : some) queue.cancel(ticket);
  };
  try {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      QueueRequest request;
      request.prompt = texts[i];
      request.configure = translation_config(*model, alternatives);
      if (model->languages().many()) {
        request.source_language = translator.source;
        request.target_language = body.text({"target"});
      }
      if (!model->adapters().empty()) request.adapter = -1;
      request.on_end = [answer, i, model](const QueueResult& result) {
        model->figures().add(result);
        answer->end(i, result);
      };
      tickets.push_back(queue.submit(std::move(request)));
    }
  } catch (...) {
    cancel(tickets);
    throw;
  }
  answer->pipe()->on_disconnect([cancel, tickets] { cancel(tickets); });
  return {{}, "application/json", answer->pipe()};
}

}  // namespace

void add_translate_routes(Server& server, const ServedModels& models, const TextBounds& bounds) {
  const RequestField key = {"api_key", text(), "has no effect; see --key"};
  Endpoint endpoint = {
      .path = "/translate",
      .group = "translation",
      .summary = "Texts in another language, as LibreTranslate has it",
      .fields = {{"q", any_of({name(), list(name(), 1)}), "a text or several", true, true},
                 {"source", name(), "its language: a code of /languages, or auto: it is detected", true},
                 {"target", name(), "that of the translation", true},
                 {"format", one_of({"text"}), "there is text alone"},
                 {"alternatives", integer(0, 20), "number of further translations of each text"},
                 {"model", text(), "where several models translate between these languages: which one"},
                 key},
      .reply = {{"type", "object"}, {"required", {"translatedText"}}},
      .is_form = true};
  server.add(endpoint, [&models, bounds](const Fields& body) { return translate(models, body, bounds); });

  const Json language =
      object({{"code", text()}, {"name", text()}, {"targets", list(text())}}, {"code", "name", "targets"});
  server.add({.method = Method::get,
              .path = "/languages",
              .group = "translation",
              .summary = "The languages of all models that translate",
              .reply = list(language)},
             [&models](const Fields&) { return reply(list_languages(models.all())); });

  server.add({.path = "/detect",
              .group = "translation",
              .summary = "The languages of a text, the most likely first, as LibreTranslate has it; 501 if "
                         "the server was built without CLD2",
              .fields = {{"q", any_of({name(), list(name(), 1)}), "a text, or several of the same languages",
                          true, true},
                         key},
              .reply = list(
                  object({{"confidence", number(0, 100)}, {"language", text()}}, {"confidence", "language"})),
              .is_form = true},
             [&models](const Fields& body) {
               Json languages = Json::array();
               for (const DetectedLanguage& each : detect(models.all(), body.texts({"q"})))
                 languages.push_back(shown_language(each));
               return reply(languages);
             });
}

}  // namespace attend::serve
