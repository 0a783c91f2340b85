// Which examples make up each batch, by tokens or by number.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace attend {

constexpr std::int64_t unlimited_tokens = std::numeric_limits<std::int64_t>::max();

// A batch is full when another example would exceed one of them; it has one example at least.
struct BatchSize {
  std::int64_t tokens = 4096;  // unlimited_tokens: any number
  std::int64_t examples = 0;   // 0: any number
};

// The numbers of the examples of each batch of one epoch, which follow from seed and epoch alone. Examples
// are shuffled and cut into batches. Where only tokens limit a batch, they are sorted by length inside
// windows of many batches before, and the batches shuffled: else a batch's number of examples would follow
// from its longest. A number of examples is a fair sample only unsorted, and costs no more: batches are
// ragged. `shuffled` false: in order of length, for validation.
std::vector<std::vector<std::int64_t>> make_batches(std::int64_t examples,
                                                    const std::function<std::int64_t(std::int64_t)>& tokens,
                                                    const BatchSize& size, std::uint64_t seed,
                                                    std::int64_t epoch, bool shuffled = true);

// What process `rank` of `ranks` takes of a batch, in its order: the longest first to the one that has least,
// so that all have about as many tokens. Perhaps nothing.
std::vector<std::int64_t> share_of_batch(const std::vector<std::int64_t>& examples,
                                         const std::function<std::int64_t(std::int64_t)>& tokens,
                                         std::int64_t rank, std::int64_t ranks);

}  // namespace attend
