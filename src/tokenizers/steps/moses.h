// Moses's clean-up of punctuation and its tokenization, for English, as sacremoses does them; XLM and
// Transformer-XL cut their words with it. https://github.com/moses-smt/mosesdecoder, scripts/tokenizer.
// Each step is a pass over the text: O(n).
#pragma once

#include "formats/json.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"

#include <memory>

namespace attend::tokenizers {

// What the two models make of a text before their vocabularies are asked: words with a space between them.
struct MosesSteps {
  bool lowercase = false;         // each character for itself, before everything else
  bool replace_wide = false;      // replaces East Asian punctuation and digits by ASCII
  bool drop_unprintable = false;  // Unicode's category C, including line ends and tabs, without a space
                                  // instead
  bool split_hyphens = false;     // a-b: a @-@ b
  bool split_numbers = false;     // 1,000.5: 1 @,@ 000 @.@ 5
  bool strip_accents = false;     // the last step
};

bool is_moses_letter(char32_t c);

// An Error if the field "language" of tokenizer_config.json is not English.
void check_moses_language(const Fields& config);

std::unique_ptr<Normalizer> make_moses_normalizer(const MosesSteps& steps);
// Back from Transformer-XL's words to a text: Moses's rules for English, and numbers in one piece again.
std::unique_ptr<Decoder> make_moses_decoder();

}  // namespace attend::tokenizers
