// The spaces that BERT's tokenization put in front of punctuation and contractions, taken out again.
#pragma once

#include <string>

namespace attend::tokenizers {

// As transformers' clean_up_tokenization does it; `tokenizers` also writes " do not" as " don't".
void clean_up(std::string& text, bool contract_do_not = false);

}  // namespace attend::tokenizers
