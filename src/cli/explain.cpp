// attend explain MODEL TEXT --output page.html
#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/option_flags.h"
#include "cli/options/verb.h"
#include "explain/ablation.h"
#include "explain/collect.h"
#include "explain/document.h"
#include "explain/page.h"
#include "explain/still.h"
#include "training/recipe_options.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend::cli {

namespace {

// The difference of a second run; empty: there is no second run.
struct Against {
  std::string model;
  std::optional<std::string> text;
  std::string weights;  // a format, or ""
  bool plain = false, bfloat16 = false;

  // Applies the comparison to path and input, and returns a description of it.
  std::string change(ModelPath& path, ExplainInput& input, ExplainOptions& options) const {
    if (!model.empty()) path = ModelPath(model);
    if (text) input.text = *text;
    if (plain) {
      if (path.adapters.empty()) fail("--against-plain: the model has no adapter (--adapter)");
      path.adapters.clear();
    }
    options.bfloat16 = bfloat16;
    if (!weights.empty()) path.weights = weight_format(weights);
    std::vector<std::string> words;
    if (!model.empty()) words.push_back("another model");
    if (text) words.push_back("another text");
    if (plain) words.push_back("without its adapters");
    if (bfloat16) words.push_back("with products in bfloat16");
    if (!weights.empty()) words.push_back(fmt::format("with weights as {}", weights));
    return fmt::format("{}", fmt::join(words, ", "));
  }
  explicit operator bool() const { return !model.empty() || text || plain || bfloat16 || !weights.empty(); }
};

void add_against(CLI::App& app, Against& against) {
  app.add_option("--against", against.model, "Compare with this model");
  app.add_option("--against-text", against.text, "Compare with this text");
  app.add_flag("--against-plain", against.plain, "Compare with the model without its adapters");
  app.add_option("--against-weights", against.weights,
                 "Compare with the model with matrices as float32, float16, bfloat16, int8, int4 or blocks")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16", "int8", "int4", "blocks"}));
  app.add_flag("--against-bfloat16", against.bfloat16, "Compare with matrix products in bfloat16");
}

void add_attribution(CLI::App& app, AttributionOptions& options) {
  app.add_option_function<std::vector<std::string>>(
         "--attribute",
         [&options](const std::vector<std::string>& names) {
           for (const std::string& name : names)
             if (name == "all")
               options.methods = attribution_methods();
             else if (std::ranges::find(options.methods, name) == options.methods.end())
               options.methods.push_back(name);
         },
         fmt::format("Attribute the result to the input by these methods, comma-separated, or all: {}",
                     fmt::join(attribution_methods(), ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check([](const std::string& name) {
        const auto& known = attribution_methods();
        if (name == "all" || std::ranges::find(known, name) != known.end()) return std::string();
        return fmt::format("expected all, or some of {}", fmt::join(known, ", "));
      });
  app.add_option("--toward", options.toward,
                 "With --attribute: the label or token to explain (default: the likeliest)");
  app.add_option("--instead-of", options.instead_of,
                 "With --attribute: explain the difference to this label or token");
  app.add_option("--place", options.places,
                 "With --attribute: positions of the explained tokens, from 0, comma-separated (default: "
                 "each mask, the next token of a text, or the whole target)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--steps", options.steps, "With integrated gradients: number of steps")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--baseline", options.baseline,
                 "With --attribute: what replaces a removed token: mask, pad, unk or zeros (default: the "
                 "first of these that the tokenizer has)")
      ->check(CLI::IsMember({"mask", "pad", "unk", "zeros"}));
}

// One line for the result, and one for each method.
void print_attributions(const std::vector<AttributedResult>& results) {
  for (const AttributedResult& result : results) {
    const auto bare = [](const std::string& text) {
      const std::size_t first = text.find_first_not_of(' ');
      return first == text.npos ? text : text.substr(first);
    };
    fmt::print("toward {}{}{}: score {:.4g}", bare(result.toward),
               result.instead_of.empty() ? "" : " instead of " + bare(result.instead_of),
               result.place < 0 ? "" : fmt::format(", place {}", result.place), result.score);
    if (result.has_probability) fmt::print(", probability {:.4g}", result.certainty);
    fmt::print("; removed: {}\n", result.baseline);
    const auto line = [](std::string_view name, const std::optional<Faithfulness>& faithful,
                         const std::optional<Attribution::Completeness>& complete) {
      fmt::print("  {:<21}", name);
      if (faithful)
        fmt::print(" comprehensiveness {:>7.4f}  sufficiency {:>7.4f}", faithful->comprehensiveness,
                   faithful->sufficiency);
      if (complete)
        fmt::print("  completeness: {:.6g} - {:.6g} is {:.2g} more than the sum", complete->score,
                   complete->baseline, complete->gap());
      fmt::print("\n");
    };
    for (const Attribution& method : result.methods)
      line(method.method, method.faithfulness, method.completeness);
    line("chance", result.chance, {});
  }
}

void add_ablation(CLI::App& app, AblationOptions& options) {
  app.add_option("--ablate", options.files,
                 "Also measure each head: the model's metrics on these files without it, in the formats of "
                 "attend evaluate");
  app.add_option("--task", options.task,
                 "With --ablate: the task, as in attend evaluate (default: that of the model's head)");
  for (Option option : selected(options_of(options.data), {"format", "columns", "header"})) {
    option.description.insert(0, "With --ablate: ");
    add_option(app, option);
  }
}

// One line for each head: the change of the metrics without it.
void print_ablation(const Ablation& ablation) {
  const bool more = !ablation.figure.empty();
  fmt::print("attention\tlayer\thead\tloss{}\n", more ? "\t" + ablation.figure : "");
  fmt::print("all\t\t\t{:.6g}{}\n", ablation.loss, more ? fmt::format("\t{:.6g}", ablation.value) : "");
  for (const auto& layer : ablation.layers)
    for (std::size_t head = 0; head < layer.loss.size(); ++head)
      fmt::print("{}\t{}\t{}\t{:+.6f}{}\n", layer.attention, layer.number, head, layer.loss[head],
                 more ? fmt::format("\t{:+.6f}", layer.value[head]) : "");
}

}  // namespace

int explain(int argc, char** argv) {
  ModelPath model;
  Against against;
  ExplainInput input;
  ExplainOptions options;
  AblationOptions ablation;
  StillOptions still;
  std::string text, page, json, tensors, picture;
  Parser parser(
      "explain",
      "Shows how a model processes a text or a picture: the attention of all layers and heads, how it is "
      "computed, and what the model predicts. Writes one page that needs no network, or the same as numbers.",
      "attend explain bert-base \"time flies like an arrow\" --output page.html");
  CLI::App& app = parser.app();
  add_model(app, model);
  auto* given = app.add_option("text", text, "The text");
  app.add_option("--pair", input.pair, "A second text, for models that read pairs");
  app.add_option("--target", input.target,
                 "Output text for an encoder-decoder (default: the model generates it)");
  app.add_option("--image", input.image,
                 "A picture file (JPEG, PNG, GIF, WebP, BMP, TIFF), for vision models")
      ->excludes(given);
  app.add_option("--output", page, "The HTML page to write");
  app.add_option("--json", json, "The JSON file to write");
  app.add_option("--safetensors", tensors,
                 "The safetensors file to write: all tensors, with the rest in its metadata");
  app.add_option("--svg", picture, "The SVG picture of one view to write");
  add_option(app,
             option::choice(
                 "view", still.view,
                 {{"heads", StillView::heads}, {"model", StillView::model}, {"neuron", StillView::neuron}},
                 "Of --svg"));
  app.add_option("--attention", still.attention, "With --svg: self, encoder, decoder or cross");
  app.add_option("--layer", still.layer, "With --svg: the layer, from 0")->check(not_negative());
  app.add_option("--head", still.heads, "With --svg: the heads, from 0, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--token", still.token,
                 "With --svg: the position of the query, from 0 (neuron; heads: only its lines)")
      ->check(not_negative());
  app.add_option("--layers", options.layers,
                 "Keep only the attention of these layers, from 0, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_attribution(app, options.attribution);
  add_ablation(app, ablation);
  add_against(app, against);
  if (const auto status = parser.parse(argc, argv)) return *status;
  ablation.layers = options.layers;
  const bool has_input = given->count() > 0 || input.image;
  if (!has_input && !ablation.files.empty() && page.empty() && json.empty() && tensors.empty() &&
      picture.empty()) {
    print_ablation(ablate(model, ablation));
    return 0;
  }
  if (!has_input) fail("expected a text, or a picture (--image)");
  if (page.empty() && json.empty() && tensors.empty() && picture.empty() &&
      options.attribution.methods.empty() && ablation.files.empty())
    fail("expected a file to write: --output, --json, --safetensors or --svg; or --attribute or --ablate");
  for (const char* needs : {"--toward", "--instead-of", "--place", "--baseline"})
    if (app.count(needs) > 0 && options.attribution.methods.empty()) fail("{}: needs --attribute", needs);
  input.text = text;

  const ModelPath measured = model;
  Explanation explanation = collect_explanation(model, input, options);
  if (against) {
    explanation.difference = against.change(model, input, options);
    explanation.other = std::make_shared<const Explanation>(collect_explanation(model, input, options));
  }
  print_attributions(explanation.attributions);
  if (!ablation.files.empty()) print_ablation(*(explanation.ablation = ablate(measured, ablation)));
  if (!page.empty()) write_page(explanation, page);
  if (!json.empty()) write_json(explanation, json);
  if (!tensors.empty()) write_tensors(explanation, tensors);
  if (!picture.empty()) write_still(explanation, still, picture);
  return 0;
}

}  // namespace attend::cli
