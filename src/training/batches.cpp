#include "training/batches.h"

#include "training/random.h"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<Batch> make_batches(const Objective& objective, std::int64_t batch_tokens, std::uint64_t seed,
                                std::int64_t epoch, bool shuffled) {
  // Long enough to fill batches with nearly equal lengths, short enough that epochs differ.
  constexpr std::int64_t kWindow = 8192;
  Random random(seed, epoch);
  std::vector<std::int64_t> order(objective.examples());
  std::iota(order.begin(), order.end(), 0);
  if (shuffled) random.shuffle(order);
  const auto shorter = [&](std::int64_t a, std::int64_t b) {
    return objective.tokens(a) < objective.tokens(b);
  };

  std::vector<Batch> batches;
  const auto window = shuffled ? kWindow : static_cast<std::int64_t>(order.size());
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const auto end = std::min(order.size(), begin + window);
    std::stable_sort(order.begin() + begin, order.begin() + end, shorter);
    Batch batch;
    std::int64_t tokens = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t more = objective.tokens(order[i]);
      if (!batch.empty() && tokens + more > batch_tokens) {
        batches.push_back(std::move(batch));
        batch.clear();
        tokens = 0;
      }
      batch.push_back(order[i]);
      tokens += more;
    }
    if (!batch.empty()) batches.push_back(std::move(batch));
  }
  if (shuffled) random.shuffle(batches);
  return batches;
}

}  // namespace attend
