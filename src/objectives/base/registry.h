// All objectives by name.
#pragma once

#include <attend/tokenizer.h>
#include <attend/training.h>

#include "data/table.h"
#include "models/families/head.h"
#include "objectives/base/objective.h"

#include <functional>

namespace attend {

// The input of an objective's constructor, before there is a network.
struct Setting {
  const Recipe& recipe;
  const ModelDirectory& directory;
  const ModelSpec& spec;  // of the model with the objective's head, without labels, which are not yet known
  const TokenizerPair& tokenizers;
  const std::vector<std::string>& files;
  bool held_out = false;         // for validation: nothing changes from epoch to epoch
  std::optional<Labels> labels;  // known already: the training's, or a trained model's
  // The labels of the model's own head (label_choice.h); absent: it has no head for the objective, or it does
  // not stay.
  std::optional<Labels> head_labels = {};
  std::optional<std::pair<double, double>> score_range = {};  // known already: the training's
};

struct ObjectiveKind {
  std::string_view name;
  std::string_view summary;
  Head head;
  bool fine_tunes =
      false;  // decides the defaults: a pretrained model learns a task, or a model learns to read
  double rate_factor = 1;  // multiplies the default learning rates of fine-tuning
  std::unique_ptr<Objective> (*make)(const Setting&) = nullptr;
  // Adds other models: those that are trained together with the first one, or its reference.
  void (*join)(Trainee&, const Setting&) = nullptr;
  // Writes files of the result that the model's own directory does not have.
  void (*write_extra_files)(const Setting&, const std::filesystem::path& output) = nullptr;
};

std::span<const ObjectiveKind* const> objective_kinds();
const ObjectiveKind& find_objective(std::string_view name);  // throws Error that lists the names

// The recipe's options for tables.
TableOptions table_options(const Setting& setting);
// The model's tokenizer without the truncation and padding that its file may ask for.
Tokenizer plain_tokenizer(const Setting& setting);
// Max tokens of a text in a stack, without the virtual tokens of the recipe's adapter.
std::int64_t readable_tokens(const Setting& setting, const StackSpec& stack);
// The recipe's length of texts or of blocks of running text, in tokens; 0: not set.
std::int64_t wanted_length(const Recipe& recipe);
// In tokens: the recipe's limit and the model's maximum; by default at most `usual`.
std::int64_t longest_text(const Setting& setting, std::int64_t usual = 512);
// The start token of a decoder after an encoder.
std::int64_t start_token(const Setting& setting);

}  // namespace attend
