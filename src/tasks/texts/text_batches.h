// From texts to batches of tokens: encoded, sorted by length, divided by a number of tokens.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

// The ids of each text, with special tokens.
std::vector<std::vector<std::int64_t>> encode_texts(const Tokenizer& tokenizer,
                                                    const std::vector<std::string>& texts);

// The indices of the sequences of each batch: similar lengths together, at most `batch_tokens` tokens (at
// least one sequence). The longest come first, so that a lack of memory shows immediately.
std::vector<std::vector<std::size_t>> batches_by_length(const std::vector<std::int64_t>& lengths,
                                                        std::int64_t batch_tokens);
std::vector<std::vector<std::size_t>> batches_by_length(
    const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t batch_tokens);

}  // namespace attend
