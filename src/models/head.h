// The heads that a family's body can have, by purpose.
#pragma once

#include "models/family.h"

#include <string>

namespace attend {

enum class Head {
  body,  // no head: hidden states
  causal_language_model,
  masked_language_model,
  permutation_language_model,  // XLNet's
  pretraining,                 // BERT's and its relatives': masked words, and whether the second text belongs
  replaced_tokens,             // ELECTRA's discriminator
  conditional_generation,
  sequence_classification,
  token_classification,
  question_answering,  // a start and an end; not XLNet's search, unless a family has nothing else
  multiple_choice,
  image_classification,
  masked_images
};

// "a masked language model" and the like, for messages.
const char* describe(Head head);

// Does an architecture of this name have the head? transformers' names say it, but for a few.
bool has_head(std::string_view architecture, Head head);

// The architecture that `family` has for this head; `own`, that of the directory at hand, where it will do
// (there may be several). Error that names the families that have one if this one has not.
std::string architecture_for(const Family& family, Head head, std::string_view own = {});

}  // namespace attend
