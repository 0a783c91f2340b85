// What families put around the model of their tokenizer: special tokens, their order, their template.
#pragma once

#include "tokenizers/trainers/trainer.h"

namespace attend::tokenizers {

struct PresetFields {
  TrainerOptions::Model model;                // what the family's own tokenizers are
  std::vector<std::string> special_tokens;    // in front of the model's own
  std::string single, pair;                   // templates; empty: nothing is added
  Json config;                                // what tokenizer_config.json says
  std::vector<std::string> last_tokens = {};  // behind the model's own
};

PresetFields fields_of(TrainerOptions::Preset preset);

}  // namespace attend::tokenizers
