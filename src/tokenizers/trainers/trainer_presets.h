// The parts that families add to the model of their tokenizer: special tokens, their order, their template.
#pragma once

#include "tokenizers/trainers/trainer.h"

namespace attend::tokenizers {

struct PresetFields {
  TrainerOptions::Model model;                // the kind of the family's own tokenizers
  std::vector<std::string> special_tokens;    // before the model's own
  std::string single, pair;                   // templates; empty: nothing is added
  Json config;                                // the contents of tokenizer_config.json
  std::vector<std::string> last_tokens = {};  // after the model's own
};

PresetFields fields_of(TrainerOptions::Preset preset);

}  // namespace attend::tokenizers
