// The heads that a family's body can have, by purpose.
#pragma once

#include "models/families/family.h"

#include <string>

namespace attend {

enum class Head {
  body,  // no head: hidden states
  causal_language_model,
  masked_language_model,
  permutation_language_model,  // XLNet's
  pretraining,                 // BERT's and its relatives': masked tokens, and whether the second text
                               // follows the first
  replaced_tokens,             // ELECTRA's discriminator
  conditional_generation,
  sequence_classification,
  token_classification,
  question_answering,  // a start and an end; XLNet's search only if a family has nothing else
  multiple_choice,
  image_classification,
  masked_images
};

// "a masked language model" and the like, for messages.
const char* describe(Head head);

// Whether an architecture of this name has the head; transformers' names tell, with a few exceptions.
bool has_head(std::string_view architecture, Head head);

// The family's architecture with this head; `own`, that of the directory, if it has the head (there may be
// several). If the family has none, an Error that names the families that do.
std::string architecture_for(const Family& family, Head head, std::string_view own = {});

}  // namespace attend
