#include "serve/routes/explain_routes.h"

#include "base/error.h"
#include "explain/collect.h"
#include "explain/document.h"
#include "explain/page.h"

#include <algorithm>
#include <atomic>

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

RequestFields explain_fields(const ServedModels& models) {
  const std::vector<Json> methods(attribution_methods().begin(), attribution_methods().end());
  return {
      models.field(),
      {"text", name(), "the text", true},
      {"pair", text(), "a second text, for models that read pairs"},
      {"target", text(), "output text for an encoder-decoder; otherwise the model generates it"},
      {"layers", list(integer(0)), "keep only the attention of these layers, from 0"},
      {"attribute", list(one_of(methods)), "attribute the result to the tokens by these methods"},
      {"toward", name(), "with attribute: the label or token to explain; otherwise the likeliest"},
      {"instead_of", name(), "with attribute: explain the difference to this label or token"},
      {"places", list(integer(0), 1), "with attribute: positions of the explained tokens, from 0"},
      {"steps", integer(1, 1000), "number of steps of integrated gradients"},
      {"baseline", one_of({"mask", "pad", "unk", "zeros"}), "with attribute: what replaces a removed token"}};
}

ExplainInput read_input(const Fields& body) {
  ExplainInput input;
  input.text = body.text({"text"});
  if (body.has({"pair"})) input.pair = body.text({"pair"});
  if (body.has({"target"})) input.target = body.text({"target"});
  return input;
}

ExplainOptions read_explain_options(const Fields& body) {
  ExplainOptions options;
  options.layers = body.integers({"layers"});
  AttributionOptions& attribution = options.attribution;
  attribution.methods = body.texts({"attribute"});
  attribution.toward = body.text({"toward"}, "");
  attribution.instead_of = body.text({"instead_of"}, "");
  attribution.places = body.integers({"places"});
  attribution.steps = static_cast<int>(body.integer({"steps"}, attribution.steps));
  attribution.baseline = body.text({"baseline"}, "");
  if (attribution.methods.empty())
    for (const char* needs : {"toward", "instead_of", "places", "baseline"})
      if (body.has({needs})) fail("{}: expected attribute as well", needs);
  return options;
}

void check_length(const ChosenModel& chosen, const ExplainInput& input, std::size_t max) {
  const TokenizerPair& tokenizers = chosen.model.model().tokenizers();
  const auto count = [](const Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.encode(text, {.with_details = false}).ids.size();
  };
  std::size_t tokens = count(*tokenizers.source, input.text);
  if (input.pair) tokens += count(*tokenizers.source, *input.pair);
  if (input.target) tokens += count(*tokenizers.target, *input.target);
  if (tokens > max) fail("text: expected at most {} tokens to explain, found {}", max, tokens);
}

// Unpacked weights, because gradients need them.
ModelPath explained_model(const ChosenModel& chosen) {
  ModelPath path = chosen.model.model();
  if (chosen.adapter)
    path.adapters = *chosen.adapter < 0
                        ? std::vector<AdapterPath>()
                        : std::vector{path.adapters[static_cast<std::size_t>(*chosen.adapter)]};
  path.loaded = nullptr;
  return path;
}

// Few at a time: an explanation needs much memory and all cores.
class Turn {
 public:
  Turn(std::atomic<std::size_t>& open, std::size_t max) : open_(open) {
    if (open_.fetch_add(1) < max) return;
    --open_;
    refuse(429, fmt::format("{} explanations are in flight already: try again later", max));
  }
  ~Turn() { --open_; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<std::size_t>& open_;
};

}  // namespace

void add_explain_routes(Server& server, const ServedModels& models, const ExplainBounds& bounds) {
  const auto open = std::make_shared<std::atomic<std::size_t>>(0);
  const auto explained = [&models, open, bounds](const Fields& body) {
    const ChosenModel chosen = models.find(body);
    const ExplainInput input = read_input(body);
    const ExplainOptions options = read_explain_options(body);
    check_length(chosen, input, bounds.tokens);
    const Turn turn(*open, bounds.at_a_time);
    Explanation explanation = collect_explanation(explained_model(chosen), input, options);
    explanation.model = chosen.name;
    return explanation;
  };
  const RequestFields fields = explain_fields(models);
  server.add(
      {.path = "/v1/explain",
       .group = "explanations",
       .summary = "What the model does with a text: attention of all layers and heads, and predictions",
       .fields = fields,
       .reply = any_object()},
      [explained](const Fields& body) { return reply(as_json(explained(body))); });
  server.add({.path = "/v1/explain/page",
              .group = "explanations",
              .summary = "The same as a page for a browser",
              .fields = fields,
              .reply = text(),
              .type = "text/html; charset=utf-8"},
             [explained](const Fields& body) -> Reply {
               std::string page;
               make_page(explained(body), [&](std::string_view piece) { page += piece; });
               return {std::move(page), "text/html; charset=utf-8"};
             });
}

}  // namespace attend::serve
