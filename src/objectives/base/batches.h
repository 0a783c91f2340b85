// Which examples each batch has, by tokens or by number of examples.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace attend {

constexpr std::int64_t unlimited_tokens = std::numeric_limits<std::int64_t>::max();

// A batch is full when another example would exceed one of the limits; it has at least one example.
struct BatchSize {
  std::int64_t tokens = 4096;  // unlimited_tokens: no limit
  std::int64_t examples = 0;   // 0: no limit
};

// The indices of the examples of each batch of one epoch; they depend only on seed and epoch. Examples are
// shuffled and cut into batches. If only tokens limit a batch, examples are first sorted by length inside
// windows of many batches, and the batches are shuffled: otherwise the longest example of a batch would
// determine its number of examples. A fixed number of examples is a fair sample only unsorted, and costs no
// more because batches are ragged. `shuffled` false: in order of length, for validation.
std::vector<std::vector<std::int64_t>> make_batches(std::int64_t examples,
                                                    const std::function<std::int64_t(std::int64_t)>& tokens,
                                                    const BatchSize& size, std::uint64_t seed,
                                                    std::int64_t epoch, bool shuffled = true);

// The examples of a batch that process `rank` of `ranks` takes, in the batch's order. The longest are
// assigned first, each to the process with the fewest tokens, so that all have about the same number. May be
// empty.
std::vector<std::int64_t> share_of_batch(const std::vector<std::int64_t>& examples,
                                         const std::function<std::int64_t(std::int64_t)>& tokens,
                                         std::int64_t rank, std::int64_t ranks);

}  // namespace attend
