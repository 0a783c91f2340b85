// A task of `attend evaluate`: its options and what it prints. Each has a file of its own and a line in
// evaluate.cpp.
#pragma once

#include <attend/model_path.h>

#include "formats/json/json.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

// What all tasks have in common.
struct EvaluationInput {
  ModelPath model;
  std::vector<std::string> data;
  bool json = false;
};

class Evaluation {
 public:
  virtual ~Evaluation() = default;
  virtual void add_options(CLI::App& app, EvaluationInput& input) = 0;
  // Prints the metrics.
  virtual void run(const EvaluationInput& input) = 0;
};

struct EvaluationKind {
  std::vector<std::string> names;
  const char* description;
  const char* example;
  std::unique_ptr<Evaluation> (*make)(const std::string& name);
};

EvaluationKind translation_evaluation();
EvaluationKind perplexity_evaluation();
EvaluationKind watermark_evaluation();
// The metrics of objectives on data in the formats of attend train.
std::vector<EvaluationKind> objective_evaluations();

// One line: the metrics as JSON with --json, else the text.
void print_figures(const EvaluationInput& input, const Json& figures, const std::string& text);
// The corresponding lines of two files.
std::pair<std::vector<std::string>, std::vector<std::string>> read_pairs(const EvaluationInput& input);

}  // namespace attend::cli
