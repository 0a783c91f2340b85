#include "objectives/base/batches.h"

#include "base/random.h"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<std::vector<std::int64_t>> make_batches(std::int64_t examples,
                                                    const std::function<std::int64_t(std::int64_t)>& tokens,
                                                    const BatchSize& size, std::uint64_t seed,
                                                    std::int64_t epoch, bool shuffled) {
  // Long enough to fill batches with nearly equal lengths, short enough that epochs differ.
  constexpr std::int64_t kWindow = 8192;
  Random random(seed, epoch);
  std::vector<std::int64_t> order(examples);
  std::iota(order.begin(), order.end(), 0);
  if (shuffled) random.shuffle(order);
  const bool sorted = !shuffled || size.examples == 0;
  const auto shorter = [&](std::int64_t a, std::int64_t b) { return tokens(a) < tokens(b); };

  std::vector<std::vector<std::int64_t>> batches;
  const auto window = shuffled && sorted ? kWindow : static_cast<std::int64_t>(order.size());
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const auto end = std::min(order.size(), begin + window);
    if (sorted) std::stable_sort(order.begin() + begin, order.begin() + end, shorter);
    std::vector<std::int64_t> batch;
    std::int64_t filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t more = tokens(order[i]);
      const bool enough = size.examples > 0 && static_cast<std::int64_t>(batch.size()) == size.examples;
      if (!batch.empty() && (more > size.tokens - filled || enough)) {
        batches.push_back(std::move(batch));
        batch.clear();
        filled = 0;
      }
      batch.push_back(order[i]);
      filled += more;
    }
    if (!batch.empty()) batches.push_back(std::move(batch));
  }
  if (shuffled && sorted) random.shuffle(batches);
  return batches;
}

std::vector<std::int64_t> share_of_batch(const std::vector<std::int64_t>& examples,
                                         const std::function<std::int64_t(std::int64_t)>& tokens,
                                         std::int64_t rank, std::int64_t ranks) {
  if (ranks == 1) return examples;
  std::vector<std::size_t> longest_first(examples.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](std::size_t a, std::size_t b) { return tokens(examples[a]) > tokens(examples[b]); });
  std::vector<std::int64_t> filled(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> places;
  for (const std::size_t place : longest_first) {
    const auto emptiest = std::min_element(filled.begin(), filled.end());
    *emptiest += tokens(examples[place]);
    if (emptiest - filled.begin() == rank) places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> share;
  for (const std::size_t place : places) share.push_back(examples[place]);
  return share;
}

}  // namespace attend
