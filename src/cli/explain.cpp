// attend explain MODEL TEXT --output page.html
#include "base/log.h"
#include "cli/model_option.h"
#include "cli/verb.h"
#include "explain/collect.h"
#include "explain/document.h"
#include "explain/page.h"
#include "explain/still.h"

#include <fmt/ranges.h>

namespace attend::cli {

namespace {

// What a second run differs in; empty: there is none.
struct Against {
  std::string model;
  std::optional<std::string> text;
  bool plain = false, bfloat16 = false;

  // Its input, and what is different in words.
  std::string change(ModelPath& path, ExplainInput& input, ExplainOptions& options) const {
    if (!model.empty()) path = ModelPath(model);
    if (text) input.text = *text;
    if (plain) {
      if (path.adapters.empty()) fail("--against-plain: the model has no adapter (--adapter)");
      path.adapters.clear();
    }
    options.bfloat16 = bfloat16;
    std::vector<std::string> words;
    if (!model.empty()) words.push_back("another model");
    if (text) words.push_back("another text");
    if (plain) words.push_back("without its adapters");
    if (bfloat16) words.push_back("with products in bfloat16");
    return fmt::format("{}", fmt::join(words, ", "));
  }
  explicit operator bool() const { return !model.empty() || text || plain || bfloat16; }
};

void add_against(CLI::App& app, Against& against) {
  app.add_option("--against", against.model, "Hold it against this model");
  app.add_option("--against-text", against.text, "Hold it against this text");
  app.add_flag("--against-plain", against.plain, "Hold it against the model without its adapters");
  app.add_flag("--against-bfloat16", against.bfloat16, "Hold it against matrix products in bfloat16");
}

}  // namespace

int explain(int argc, char** argv) {
  ModelPath model;
  Against against;
  ExplainInput input;
  ExplainOptions options;
  StillOptions still;
  std::string text, page, json, tensors, picture;
  Parser parser(
      "explain",
      "Draws what a model does with a text or a picture: attentions of all layers and heads, how they come "
      "about, what the model says. One page that needs no network; or the same as numbers.",
      "attend explain bert-base \"time flies like an arrow\" --output page.html");
  CLI::App& app = parser.app();
  add_model(app, model);
  auto* given = app.add_option("text", text, "The text");
  app.add_option("--pair", input.pair, "A second text, for models that read two");
  app.add_option("--target", input.target,
                 "What a decoder with an encoder is to have written (otherwise it writes itself)");
  app.add_option("--image", input.image, "A JPEG or PNG file, for models of pictures")->excludes(given);
  app.add_option("--output", page, "The page to write, an HTML file");
  app.add_option("--json", json, "The same as JSON");
  app.add_option("--safetensors", tensors, "The same as tensors, with the rest in the file's metadata");
  app.add_option("--svg", picture, "A still picture of one view");
  app.add_option("--view", still.view, "Of --svg")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, StillView>{
              {"heads", StillView::heads}, {"model", StillView::model}, {"neuron", StillView::neuron}},
          CLI::ignore_case));
  app.add_option("--attention", still.attention, "Of --svg: self, encoder, decoder or cross");
  app.add_option("--layer", still.layer, "Of --svg: from 0")->check(not_negative());
  app.add_option("--head", still.heads, "Of --svg: from 0; several with commas (heads)")->delimiter(',');
  app.add_option("--token", still.token,
                 "Of --svg: the query's place, from 0 (neuron; heads: its lines alone)")
      ->check(not_negative());
  app.add_option("--layers", options.layers, "Keep the attentions of these layers alone, from 0, with commas")
      ->delimiter(',');
  add_against(app, against);
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (given->count() == 0 && !input.image) fail("expected a text, or a picture (--image)");
  if (page.empty() && json.empty() && tensors.empty() && picture.empty())
    fail("expected a file to write: --output, --json, --safetensors or --svg");
  input.text = text;

  Explanation explanation = attend::explain(model, input, options);
  if (against) {
    explanation.difference = against.change(model, input, options);
    explanation.other = std::make_shared<const Explanation>(attend::explain(model, input, options));
  }
  if (!page.empty()) write_page(explanation, page);
  if (!json.empty()) write_json(explanation, json);
  if (!tensors.empty()) write_tensors(explanation, tensors);
  if (!picture.empty()) write_still(explanation, still, picture);
  return 0;
}

}  // namespace attend::cli
