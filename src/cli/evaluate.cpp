// attend evaluate TASK MODEL DATA...: the task's metrics.
#include <attend/attend.h>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/verb.h"
#include "formats/json.h"
#include "models/model.h"
#include "training/bleu.h"
#include "training/chrf.h"
#include "training/trainer.h"

#include <iostream>

namespace attend::cli {
namespace {

struct Arguments {
  std::string task, model;
  std::vector<std::string> data;
  TranslateOptions options;
  std::string tokenize = "13a", save;
  bool lowercase = false, json = false;
  std::int64_t length = 0;
};

void print(const Arguments& a, const Json& figures, const std::string& text) {
  std::cout << (a.json ? figures.dump() : text) << "\n";
}

std::vector<std::string> translations(const Arguments& a, const std::vector<std::string>& sources) {
  Translator translator(a.model);
  Progress progress("translating", sources.size(), "texts");
  TranslateOptions options = a.options;
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
  return translator.translate(sources, options);
}

// Translates the source, or with MODEL "-" takes the first file as the translation.
void evaluate_translation(const Arguments& a) {
  if (a.data.size() != 2) fail("expected two files, source and reference, found {}", a.data.size());
  const std::vector<std::string> sources = read_lines(a.data[0]), references = read_lines(a.data[1]);
  if (sources.size() != references.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", a.data[0],
         sources.size(), a.data[1], references.size());
  if (sources.empty()) fail("{}: the file is empty", a.data[0]);
  const std::vector<std::string> hypotheses = a.model == "-" ? sources : translations(a, sources);
  if (!a.save.empty()) write_file_atomically(a.save, fmt::format("{}\n", fmt::join(hypotheses, "\n")));
  const Bleu bleu = corpus_bleu(hypotheses, references, {bleu_tokenizer(a.tokenize), a.lowercase});
  const Chrf chrf = corpus_chrf(hypotheses, references, {.lowercase = a.lowercase});
  print(a,
        {{"bleu", bleu.score},
         {"chrf", chrf.score},
         {"bleu_signature", bleu.signature},
         {"chrf_signature", chrf.signature}},
        to_string(bleu) + "\n" + to_string(chrf));
}

void evaluate_causal_lm(const Arguments& a) {
  Model model = Model::load(ModelDirectory(a.model), Purpose::inference);
  const Tokenizer tokenizer = Tokenizer::from_file(a.model);
  Transformer network = model.network();
  if (!network->decoder || network->encoder)
    fail("{}: expected a decoder, found {}", a.model, model.architecture());
  const std::int64_t most = network->decoder->embeddings->max_positions();
  const CausalLanguageModel objective(tokenizer, a.data, a.length > 0 ? std::min(a.length, most) : most);
  const double loss = mean_loss(model, objective, a.options.batch_tokens);
  print(a, {{"loss", loss}, {"perplexity", std::exp(loss)}},
        fmt::format("loss {:.4f}, perplexity {:.3f}", loss, std::exp(loss)));
}

}  // namespace

int evaluate(int argc, char** argv) {
  Arguments a;
  Parser parser(
      "evaluate",
      "Measures a model on data: translation (BLEU and chrF, as sacrebleu computes them) or causal-lm (loss "
      "and perplexity). With MODEL \"-\" the first file holds the translations themselves.",
      "attend evaluate translation en-de-trained test.en test.de");
  parser.app()
      .add_option("task", a.task, "translation or causal-lm")
      ->required()
      ->check(CLI::IsMember({"translation", "causal-lm"}));
  parser.app().add_option("model", a.model, "The model directory")->required();
  parser.app().add_option("data", a.data, "Text files: source and reference; or running text")->required();
  parser.app().add_option("--beams", a.options.beams, "Beams of the search")->check(CLI::PositiveNumber);
  parser.app().add_option("--length-penalty", a.options.length_penalty, "Of the beam search");
  parser.app()
      .add_option("--batch-tokens", a.options.batch_tokens, "Tokens to a batch")
      ->check(CLI::PositiveNumber);
  parser.app().add_option("--length", a.length, "Block length of causal-lm; 0: all positions of the model");
  parser.app().add_option("--tokenize", a.tokenize, "BLEU's words: 13a, intl, char or none");
  parser.app().add_flag("--lowercase", a.lowercase, "Without regard to case");
  parser.app().add_option("--save-translations", a.save, "A file for the translations");
  parser.app().add_flag("--json", a.json, "One JSON object");
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (a.task == "translation")
    evaluate_translation(a);
  else
    evaluate_causal_lm(a);
  return 0;
}

}  // namespace attend::cli
