// attend evaluate OBJECTIVE MODEL FILE...: the metrics by which training validates, on data in its formats.
#include <attend/training.h>

#include "cli/evaluate/evaluation.h"
#include "cli/options/option_flags.h"
#include "cli/options/verb.h"
#include "training/recipe_options.h"

#include <algorithm>

namespace attend::cli {
namespace {

// The objectives of a task. The name language-model means one or the other, depending on the model.
std::vector<std::string> objectives_of(const std::string& task) {
  if (task == "language-model") return {"causal-lm", "masked-lm"};
  return {task == "similarity" ? "scored-pairs" : task};
}

class ObjectiveEvaluation final : public Evaluation {
 public:
  explicit ObjectiveEvaluation(const std::string& task) {
    recipe_.objective = task == "similarity" ? "scored-pairs" : task;
    for (const Option& option : selected(
             options_of(recipe_), {"batch_tokens", "batch_size", "format", "columns", "header", "score_range",
                                   "max_length", "length", "template", "reference", "beta", "loss_type"})) {
      const bool has_effect =
          !option.needs || std::ranges::any_of(objectives_of(task), [&](const auto& objective) {
            return std::ranges::count(option.needs->values, objective) > 0;
          });
      if (has_effect) options_.push_back(option);
    }
  }

  void add_options(CLI::App& app, EvaluationInput&) override {
    cli::add_options(app, options_);
    app.add_option("--save-scores", recipe_.save_scores,
                   "A file to write the scores of each example to, for attend train --teacher FILE");
  }

  void run(const EvaluationInput& input) override {
    recipe_.model = input.model;
    recipe_.train = input.data;
    if (!recipe_.batch.tokens) recipe_.batch.tokens = 4096;
    Json figures;
    std::string text;
    for (const auto& [name, value] : attend::evaluate(recipe_)) {
      figures[name] = value;
      text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
    }
    print_figures(input, figures, text);
  }

 private:
  Recipe recipe_;
  Options options_;
};

EvaluationKind kind(std::vector<std::string> names, const char* description, const char* example) {
  return {std::move(names), description, example, [](const std::string& name) -> std::unique_ptr<Evaluation> {
            return std::make_unique<ObjectiveEvaluation>(name);
          }};
}

}  // namespace

std::vector<EvaluationKind> objective_evaluations() {
  return {
      kind({"language-model", "causal-lm", "masked-lm"},
           "Loss and perplexity of a decoder on blocks of running text, or of a masked language model on "
           "masked "
           "words, as validation in training computes them. language-model: the one that fits the model.",
           "attend evaluate language-model gpt2 book.txt"),
      kind(
          {"classification", "regression", "multi-label", "token-classification", "question-answering",
           "multiple-choice", "image-classification"},
          "The metrics of a fine-tuned model on data in the formats of attend train. Labels are the model's, "
          "by name "
          "or number.",
          "attend evaluate classification MiniLM-reviews dev.tsv --columns text=sentence,label=label --json"),
      kind({"similarity"}, "Correlation of the cosines of sentence pairs with their scores.",
           "attend evaluate similarity MiniLM sts.tsv"),
      kind({"pairs"}, "How often the matching text is the nearest of all (recall@1).",
           "attend evaluate pairs MiniLM questions.tsv"),
      kind({"chat"}, "Loss and perplexity of the assistant's words.",
           "attend evaluate chat SmolLM2 talks.jsonl"),
      kind({"preferences"},
           "How often the better answer is the one that the model prefers more than --reference does, or "
           "than without "
           "its adapter.",
           "attend evaluate preferences tuned better.jsonl --reference SmolLM2")};
}

}  // namespace attend::cli
