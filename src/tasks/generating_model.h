// A model that makes texts, with what reads and writes them: what all tasks that generate begin with.
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
  LongestText longest;      // that is read: a source, or a prompt with what follows it
};

}  // namespace attend
