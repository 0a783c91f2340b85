// A model that generates text, with its tokenizers and config: the start of all generating tasks.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "models/pretrained_model.h"
#include "tasks/longest_text.h"

namespace attend {

struct GeneratingModel {
  // Error for a model that predicts no tokens (check_generates).
  explicit GeneratingModel(const ModelDirectory& directory);

  PretrainedModel model;
  TokenizerPair tokenizers;
  GenerationConfig config;  // the model's own
  LongestText longest;      // max tokens of a source, or of a prompt with its continuation
};

}  // namespace attend
