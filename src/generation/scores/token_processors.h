// Processors for particular tokens: required, forbidden or favoured, at a position or anywhere.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor sequence_bias(const std::vector<SequenceBias>& biases);
Processor bad_words(const std::vector<std::vector<std::int64_t>>& words,
                    const std::vector<std::int64_t>& ends);
// min_length and min_new_tokens: both are LengthLimits::least.
Processor min_length(const std::vector<std::int64_t>& ends);
Processor forced_second(std::int64_t token);
Processor forced_last(const std::vector<std::int64_t>& tokens);  // one of them
Processor remove_invalid_values();
Processor exponential_decay_length_penalty(const ExponentialDecay& decay,
                                           const std::vector<std::int64_t>& ends);
Processor suppress_tokens(const std::vector<std::int64_t>& tokens);
// `forced`: the second token is forced, so the first free one may be the one after it.
Processor begin_suppress_tokens(const std::vector<std::int64_t>& tokens, bool forced);

}  // namespace attend
