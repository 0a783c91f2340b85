// From what somebody wants to know of a model's result to attributions by several methods, each with how
// faithful it is.
#pragma once

#include <attend/tokenizer.h>

#include "explain/explained_score.h"
#include "explain/explanation.h"

#include <filesystem>

namespace attend {

struct AttributionOptions {
  std::vector<std::string> methods = {};  // of attribution_methods(); empty: none
  // A label or a token, and one that it is held against; empty: the likeliest (of a given target: the one
  // that stands there), and none.
  std::string toward = {}, instead_of = {};
  // Where in the text or target, from 0, a token is said: behind the place by decoders, in it by encoders.
  // Empty: behind a text's end; in each mask; of a target where `toward` stands, else everywhere.
  std::vector<std::int64_t> places = {};
  int steps = 50;             // of integrated gradients
  std::string baseline = {};  // "mask", "pad", "unk" or "zeros"; empty: the first of them that there is
};

const std::vector<std::string>& attribution_methods();

// The tokenizers of a model's sides, and the directory that says which of their tokens are special; null: the
// model has no such side.
struct SideTokenizers {
  const Tokenizer* source = nullptr;
  const Tokenizer* target = nullptr;
  std::filesystem::path directory;
};

// Into result.attributions, for each place. `result` has the input's sides already. Error for a label or
// token that there is none of, for a head whose scores nobody can ask for, and for weights without gradients.
void attribute(const PretrainedModel& model, const GivenInput& given, const SideTokenizers& tokenizers,
               const AttributionOptions& options, bool bfloat16, Explanation& result);

}  // namespace attend
