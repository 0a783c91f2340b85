// attend evaluate TASK MODEL DATA...: the task's metrics.
#include "base/error.h"
#include "base/file.h"
#include "cli/evaluate/evaluation.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

std::vector<EvaluationKind> evaluations() {
  std::vector<EvaluationKind> all = {translation_evaluation(), perplexity_evaluation(),
                                     watermark_evaluation()};
  std::ranges::move(objective_evaluations(), std::back_inserter(all));
  return all;
}

void print_evaluations(std::FILE* out) {
  std::fputs("Evaluates a model on data.\n\nattend evaluate TASK MODEL DATA... [options]\n\n", out);
  for (const EvaluationKind& kind : evaluations())
    std::fprintf(out, "  %s\n      %s\n", fmt::format("{}", fmt::join(kind.names, ", ")).c_str(),
                 kind.description);
  std::fputs(
      "\n`attend evaluate TASK --help` lists the options of a task.\n\nExample:\n  attend evaluate "
      "perplexity gpt2 "
      "book.txt --stride 256\n",
      out);
}

}  // namespace

void print_figures(const EvaluationInput& input, const Json& figures, const std::string& text) {
  std::cout << (input.json ? figures.dump() : text) << "\n";
}

std::pair<std::vector<std::string>, std::vector<std::string>> read_pairs(const EvaluationInput& input) {
  if (input.data.size() != 2) fail("expected two files, source and target, found {}", input.data.size());
  std::vector<std::string> sources = read_lines(input.data[0]), targets = read_lines(input.data[1]);
  if (sources.size() != targets.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", input.data[0],
         sources.size(), input.data[1], targets.size());
  if (sources.empty()) fail("{}: the file is empty", input.data[0]);
  return {std::move(sources), std::move(targets)};
}

int evaluate(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h") {
    print_evaluations(name.empty() ? stderr : stdout);
    return name.empty() ? 2 : 0;
  }
  const std::vector<EvaluationKind> all = evaluations();
  const auto kind = std::ranges::find_if(
      all, [&](const EvaluationKind& each) { return std::ranges::count(each.names, name) > 0; });
  if (kind == all.end()) {
    std::fprintf(stderr, "attend evaluate: there is no task '%s'; `attend evaluate --help` lists them\n",
                 name.c_str());
    return 2;
  }
  EvaluationInput input;
  Parser parser("evaluate " + name, kind->description, kind->example);
  add_model(parser.app(), input.model);
  parser.app()
      .add_option("data", input.data, "Files: source and target, running text, or examples of a task")
      ->required();
  const std::unique_ptr<Evaluation> evaluation = kind->make(name);
  evaluation->add_options(parser.app(), input);
  parser.app().add_flag("--json", input.json, "Print one JSON object");
  if (const auto status = parser.parse(argc - 1, argv + 1)) return *status;
  evaluation->run(input);
  return 0;
}

}  // namespace attend::cli
