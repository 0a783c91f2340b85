// Texts as the model of a sentence-transformers directory is to read them.
#pragma once

#include "formats/model_directory.h"

#include <string>

namespace attend {

// Behind the prompt, and in lower case where SentencePooling asks for it. Text that is no UTF-8 keeps its
// case: the tokenizer will say what is wrong with it.
std::string prepare_text(const std::string& text, const SentencePooling& pooling);

}  // namespace attend
