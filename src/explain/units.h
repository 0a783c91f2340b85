// Words and sentences, over which the scores of tokens are summed.
#pragma once

#include "explain/explanation.h"

namespace attend {

// Assigns words and sentences to the side's tokens. The tokenizer defines the words; otherwise a word begins
// at a token with a space or punctuation. A sentence ends after . ! ? and the like at the end of a word, at
// the end of a line and of a text. A picture has neither.
void number_units(ExplainedSide& side);

// The sums of `scores` by word (or sentence), in text order.
std::vector<float> sum_by_word(const ExplainedSide& side, const std::vector<float>& scores);
std::vector<float> sum_by_sentence(const ExplainedSide& side, const std::vector<float>& scores);

}  // namespace attend
