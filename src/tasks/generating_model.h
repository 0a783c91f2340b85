// A model that makes texts, with what reads and writes them: what all tasks that generate begin with.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "models/pretrained_model.h"

namespace attend {

struct GeneratingModel {
  // Error for a model that predicts no tokens (check_generates).
  explicit GeneratingModel(const ModelDirectory& directory);

  PretrainedModel model;
  TokenizerPair tokenizers;
  GenerationConfig config;  // the model's own
};

}  // namespace attend
