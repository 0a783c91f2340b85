// attend evaluate translation|summarization MODEL SOURCE TARGET: BLEU, chrF and ROUGE.
#include <attend/tasks.h>
#include <attend/translator.h>

#include "base/file.h"
#include "base/progress.h"
#include "cli/evaluate/evaluation.h"
#include "cli/options/generation_options.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/rouge.h"

namespace attend::cli {
namespace {

class TranslationEvaluation final : public Evaluation {
 public:
  explicit TranslationEvaluation(bool summarizes) : summarizes_(summarizes) {}

  void add_options(CLI::App& app, EvaluationInput& input) override {
    add_cache(app, input.model);
    add_generation_options(app, fields_, {"num_beams", "length_penalty"});
    add_languages(app, options_.source_language, options_.target_language);
    app.add_option("--batch-tokens", options_.batch_tokens, "Tokens per batch")->check(positive());
    app.add_option("--tokenize", tokenize_, "Tokenization for BLEU: 13a, intl, char or none");
    app.add_flag("--lowercase", lowercase_, "Ignore case in BLEU and chrF");
    app.add_option("--save-translations", save_, "A file to write the translations to");
  }

  void run(const EvaluationInput& input) override {
    const auto [sources, references] = read_pairs(input);
    const std::vector<std::string> hypotheses =
        input.model.directory == "-" ? sources : translations(input, sources);
    if (!save_.empty()) write_file_atomically(save_, fmt::format("{}\n", fmt::join(hypotheses, "\n")));
    const Bleu bleu = corpus_bleu(hypotheses, references, {bleu_tokenizer(tokenize_), lowercase_});
    const Chrf chrf = corpus_chrf(hypotheses, references, {.lowercase = lowercase_});
    RougeMetric rouge;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) rouge.add(hypotheses[i], references[i]);
    Json figures = {{"bleu", bleu.score},
                    {"chrf", chrf.score},
                    {"bleu_signature", bleu.signature},
                    {"chrf_signature", chrf.signature}};
    std::string rouges;
    for (const auto& [name, value] : rouge.figures()) {
      figures[name] = value;
      rouges += fmt::format("{}{} {:.4f}", rouges.empty() ? "" : ", ", name, value);
    }
    print_figures(input, figures, summarizes_ ? rouges : to_string(bleu) + "\n" + to_string(chrf));
  }

 private:
  std::vector<std::string> translations(const EvaluationInput& input,
                                        const std::vector<std::string>& sources) {
    Translator translator(input.model);
    Progress progress("translating", sources.size(), "texts");
    TranslateOptions options = options_;
    options.configure = with_fields(fields_.dump());
    options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
    return translator.translate(sources, options);
  }

  bool summarizes_;
  TranslateOptions options_;
  Json fields_ = Json::object();  // of the generation config
  std::string tokenize_ = "13a", save_;
  bool lowercase_ = false;
};

}  // namespace

EvaluationKind translation_evaluation() {
  return {{"translation", "summarization"},
          "translation: BLEU and chrF of the model's translations, as sacrebleu computes them; with MODEL "
          "\"-\" the "
          "first file contains the translations. summarization: ROUGE in the same way. --json prints all "
          "metrics.",
          "attend evaluate translation en-de-trained test.en test.de",
          [](const std::string& name) -> std::unique_ptr<Evaluation> {
            return std::make_unique<TranslationEvaluation>(name == "summarization");
          }};
}

}  // namespace attend::cli
