// A model that generates text, with its tokenizers and config: shared by all generating tasks.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "models/checkpoint/pretrained_model.h"
#include "tasks/texts/longest_text.h"

namespace attend {

struct GeneratingModel {
  // Throws Error for a model that does not predict tokens (check_generates).
  explicit GeneratingModel(const ModelDirectory& directory);

  PretrainedModel model;
  TokenizerPair tokenizers;
  GenerationConfig config;  // the model's own
  LongestText longest;      // max tokens of a source, or of a prompt with its continuation
};

}  // namespace attend
