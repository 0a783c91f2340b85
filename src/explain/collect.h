// Runs a model on an input and collects everything to show.
#pragma once

#include <attend/model_path.h>

#include "explain/attribute.h"

namespace attend {

struct ExplainInput {
  std::string text = {};
  std::optional<std::string> pair = {};             // the second text of a model that reads two
  std::optional<std::string> target = {};           // absent: the model generates it
  std::optional<std::filesystem::path> image = {};  // instead of the text
};

struct ExplainOptions {
  std::vector<std::int64_t> layers = {};  // layers whose attentions are kept; empty: all
  // Number of predicted tokens to keep per position, and after each layer.
  std::int64_t predictions = 100, lens = 5;
  bool bfloat16 = false;  // matrix products round their factors (Pass::bfloat16)
  AttributionOptions attribution = {};
};

// Throws Error for an input that the model does not read.
Explanation explain(const ModelPath& model, const ExplainInput& input, const ExplainOptions& options = {});

}  // namespace attend
