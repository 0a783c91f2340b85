#include "objectives/base/objective.h"

namespace attend {

std::vector<std::vector<std::int64_t>> Objective::batches(const BatchSize& size, std::uint64_t seed,
                                                          std::int64_t epoch, bool shuffled) const {
  return make_batches(
      examples(), [&](std::int64_t example) { return tokens(example); }, size, seed, epoch, shuffled);
}

}  // namespace attend
