// Processors against repetition, or in favour of the source's tokens.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor repetition_penalty(double penalty);
Processor encoder_repetition_penalty(double penalty);  // above 1: tokens of the source become likelier
// For tokens of the new text: once, and once per occurrence.
Processor presence_and_frequency_penalty(double presence, double frequency);
Processor diversity_penalty(double penalty);  // for tokens of other groups of beams at the same position
Processor no_repeat_ngram(std::int64_t size);
Processor encoder_no_repeat_ngram(std::int64_t size);  // none of the source's n-grams occur
Processor dry(const DryPenalty& settings);

}  // namespace attend
