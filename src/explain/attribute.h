// From a question about a model's result to attributions by several methods, each with its faithfulness.
#pragma once

#include <attend/tokenizer.h>

#include "explain/explained_score.h"
#include "explain/explanation.h"

#include <filesystem>

namespace attend {

struct AttributionOptions {
  std::vector<std::string> methods = {};  // of attribution_methods(); empty: none
  // A label or a token, and one to compare it with. Empty `toward`: the likeliest (in a given target: the
  // target's own tokens). Empty `instead_of`: no comparison.
  std::string toward = {}, instead_of = {};
  // Positions in the text or target, from 0, at which a token is predicted: decoders predict the token after
  // the position, encoders the one at it. Empty: the end of a text; each mask; in a target the position of
  // `toward`, or every position.
  std::vector<std::int64_t> places = {};
  int steps = 50;             // of integrated gradients
  std::string baseline = {};  // "mask", "pad", "unk" or "zeros"; empty: the first of these that exists
};

const std::vector<std::string>& attribution_methods();

// The tokenizers of a model's sides, and the directory that lists their special tokens; null: the model has
// no such side.
struct SideTokenizers {
  const Tokenizer* source = nullptr;
  const Tokenizer* target = nullptr;
  std::filesystem::path directory;
};

// Fills result.attributions for each position. `result` already has the input's sides. Throws Error for an
// unknown label or token, for an unsupported head, and for weights without gradients.
void attribute(const PretrainedModel& model, const GivenInput& given, const SideTokenizers& tokenizers,
               const AttributionOptions& options, bool bfloat16, Explanation& result);

}  // namespace attend
