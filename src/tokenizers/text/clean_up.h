// Removes the spaces that BERT's tokenization puts before punctuation and contractions.
#pragma once

#include <string>

namespace attend::tokenizers {

// As transformers' clean_up_tokenization; `tokenizers` also replaces " do not" by " don't".
void clean_up(std::string& text, bool contract_do_not = false);

}  // namespace attend::tokenizers
