// Words and sentences: what tokens' numbers are added up over.
#pragma once

#include "explain/explanation.h"

namespace attend {

// Numbers the side's words and sentences in its tokens. A word is what the tokenizer takes for one; where it
// does not say, it begins where a token brings a space or punctuation. A sentence ends behind . ! ? and their
// like at the end of a word, at the end of a line and of a text. A picture has neither.
void number_units(ExplainedSide& side);

// The sums of `scores` by word (or sentence), in their order.
std::vector<float> sum_by_word(const ExplainedSide& side, const std::vector<float>& scores);
std::vector<float> sum_by_sentence(const ExplainedSide& side, const std::vector<float>& scores);

}  // namespace attend
