// All objectives by name.
#pragma once

#include <attend/tokenizer.h>
#include <attend/training.h>

#include "data/table.h"
#include "models/head.h"
#include "objectives/objective.h"

#include <functional>

namespace attend {

// What an objective is made of, before there is a network.
struct Setting {
  const Recipe& recipe;
  const ModelDirectory& directory;
  const ModelSpec& spec;  // of the model with the objective's head, of which labels are not yet known
  const TokenizerPair& tokenizers;
  const std::vector<std::string>& files;
  bool held_out = false;         // for validation: nothing is drawn anew from epoch to epoch
  std::optional<Labels> labels;  // known already: the training's, or a trained model's
  // What the model's own head tells apart (label_choice.h); absent: it has none for the objective, or none
  // that is to stay.
  std::optional<Labels> head_labels = {};
  std::optional<std::pair<double, double>> score_range = {};  // known already: the training's
};

struct ObjectiveKind {
  std::string_view name;
  std::string_view summary;
  Head head;
  bool fine_tunes =
      false;  // decides the defaults: a pretrained model learns a task, or a model learns to read
  std::unique_ptr<Objective> (*make)(const Setting&) = nullptr;
  // Adds the models that learn beside the first one.
  void (*join)(Trainee&, const Recipe&) = nullptr;
  // Writes what the result needs beside it and the model's own directory does not have.
  void (*accompany)(const Setting&, const std::filesystem::path& output) = nullptr;
};

std::span<const ObjectiveKind* const> objective_kinds();
const ObjectiveKind& find_objective(std::string_view name);  // Error that lists the names

// How the recipe says that tables are read.
TableOptions table_options(const Setting& setting);
// The model's tokenizer without the truncation and padding that its file may ask for.
Tokenizer plain_tokenizer(const Setting& setting);
// How many tokens of a text a stack reads beside the virtual ones that the recipe's adapter puts before it.
std::int64_t readable_tokens(const Setting& setting, const StackSpec& stack);
// What the recipe says of the length of texts or of blocks of running text, in tokens; 0: nothing.
std::int64_t wanted_length(const Recipe& recipe);
// In tokens: what the recipe allows and the model can read; without a word from the recipe at most 512.
std::int64_t longest_text(const Setting& setting);
// What a decoder behind an encoder begins with.
std::int64_t start_token(const Setting& setting);

}  // namespace attend
