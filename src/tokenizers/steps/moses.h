// Moses's clean-up of punctuation and its tokenization, for English, as sacremoses does them; XLM,
// Transformer-XL and BioGPT split text into words with it. https://github.com/moses-smt/mosesdecoder,
// scripts/tokenizer. Each step is a pass over the text: O(n).
#pragma once

#include "formats/json/json.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"

#include <memory>
#include <string>

namespace attend::tokenizers {

// The changes of these models to a text before their vocabularies are used: words with a space between them.
struct MosesSteps {
  bool clean_punctuation = true;  // quotes of all kinds become those of ASCII, and so on
  bool lowercase = false;         // each character separately, before everything else
  bool replace_wide = false;      // replaces East Asian punctuation and digits by ASCII
  bool drop_unprintable = false;  // Unicode's category C, including line ends and tabs, without a space
                                  // instead
  bool split_hyphens = false;     // a-b: a @-@ b
  bool split_numbers = false;     // 1,000.5: 1 @,@ 000 @.@ 5
  bool escape = false;            // &, |, <, >, ', ", [ and ] as XML writes them
  bool strip_accents = false;     // the last step
};

bool is_moses_letter(char32_t c);

// An Error if the field "language" of tokenizer_config.json is not English.
void check_moses_language(const Fields& config);

std::unique_ptr<Normalizer> make_moses_normalizer(const MosesSteps& steps);
// The inverse: from words to a text by Moses's rules for English. Tokens are words, or parts of words if
// `end_of_word` marks the last part of each. `join_numbers` undoes split_numbers.
struct MosesJoining {
  bool join_numbers = false;
  std::string end_of_word = {};
};
std::unique_ptr<Decoder> make_moses_decoder(MosesJoining joining);

}  // namespace attend::tokenizers
