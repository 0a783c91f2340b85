// Batches by tokens: examples of similar length together, in random order.
#pragma once

#include "training/objective.h"

namespace attend {

using Batch = std::vector<std::int64_t>;  // example numbers

// The batches of one epoch. Examples are shuffled, sorted by length inside windows of many batches, cut into
// batches of at most `batch_tokens` tokens (at least one example), and the batches shuffled. Follows from
// seed and epoch alone. `shuffled` false: in order of length, for validation.
std::vector<Batch> make_batches(const Objective& objective, std::int64_t batch_tokens, std::uint64_t seed,
                                std::int64_t epoch, bool shuffled = true);

}  // namespace attend
