// Batches by tokens: examples of similar length together, in random order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace attend {

// A batch is full when another example would exceed one of them; it has one example at least.
struct BatchSize {
  std::int64_t tokens = 4096;
  std::int64_t examples = 0;  // 0: any number
};

// The numbers of the examples of each batch of one epoch. Examples are shuffled, sorted by length inside
// windows of many batches, cut into batches, and the batches shuffled. Follows from seed and epoch alone.
// `shuffled` false: in order of length, for validation.
std::vector<std::vector<std::int64_t>> make_batches(std::int64_t examples,
                                                    const std::function<std::int64_t(std::int64_t)>& tokens,
                                                    const BatchSize& size, std::uint64_t seed,
                                                    std::int64_t epoch, bool shuffled = true);

}  // namespace attend
