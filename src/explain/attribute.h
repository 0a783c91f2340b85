// From a question about a model's result to attributions by several methods, each with its faithfulness.
#pragma once

#include <attend/explain.h>
#include <attend/tokenizer.h>

#include "explain/explained_score.h"
#include "explain/explanation.h"

#include <filesystem>

namespace attend {

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
