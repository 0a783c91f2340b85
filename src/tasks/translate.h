// Translation with a model and a tokenizer that are already there; attend/attend.h has the class for users.
#pragma once

#include <attend/attend.h>

#include "models/model.h"

namespace attend {

// Error for a text with more tokens than the model reads; it names the text.
std::vector<std::string> translate(const Model& model, const TokenizerPair& tokenizers,
                                   const std::vector<std::string>& texts, const TranslateOptions& options);

}  // namespace attend
