#include "nn/pass/reading_groups.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

// Enough for full tiles of the products, few enough that activations stay in a core's own cache. For 4,096
// tokens through MiniLM in int8, which would otherwise write 25 MB for each feed-forward layer, that saves a
// sixth of the time.
constexpr std::int64_t kTokensOfThread = 256;
// With fewer tokens, a thread would wait for the weights.
constexpr std::int64_t kFewestTokens = 32;
// The last thread may be busy this much longer than with evenly divided work.
constexpr double kUneven = 1.08;

// What a text costs, in tokens of products: attention also multiplies every token with every other.
double cost_of(std::int64_t length, std::int64_t width) {
  const auto tokens = static_cast<double>(length);
  return tokens * (1 + tokens / static_cast<double>(6 * width));
}

// Divides the texts where the sums of costs are nearest to equal parts.
std::vector<std::int64_t> cut(std::span<const double> costs, double all, std::int64_t groups) {
  std::vector<std::int64_t> begins = {0};
  double before = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double wanted = all * static_cast<double>(begins.size()) / static_cast<double>(groups);
    if (before + costs[i] / 2 >= wanted && begins.back() < static_cast<std::int64_t>(i))
      begins.push_back(static_cast<std::int64_t>(i));
    before += costs[i];
  }
  begins.push_back(static_cast<std::int64_t>(costs.size()));
  return begins;
}

// The time that threads need if each takes the next group as soon as it is free.
double time_of(std::span<const double> costs, std::span<const std::int64_t> begins, int threads) {
  std::vector<double> busy(static_cast<std::size_t>(threads));
  for (std::size_t g = 0; g + 1 < begins.size(); ++g)
    *std::min_element(busy.begin(), busy.end()) +=
        std::accumulate(costs.begin() + begins[g], costs.begin() + begins[g + 1], 0.0);
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace

ReadingGroups reading_groups(std::span<const std::int64_t> lengths, std::int64_t width, int threads,
                             bool apart) {
  const auto texts = static_cast<std::int64_t>(lengths.size());
  const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::vector<double> costs;
  for (const std::int64_t length : lengths) costs.push_back(cost_of(length, width));
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);

  const std::int64_t together = kTokensOfThread * threads;  // tokens
  if (apart && threads > 1) {
    std::int64_t of_thread = std::max<std::int64_t>(1, (tokens + together / 2) / together);
    for (; of_thread * threads * kFewestTokens <= tokens && of_thread * threads <= texts; of_thread *= 2) {
      ReadingGroups groups{cut(costs, all, of_thread * threads), true};
      if (time_of(costs, groups.begins, threads) <= kUneven * all / threads) return groups;
    }
  }
  ReadingGroups groups{{0}, false};
  if (tokens > 2 * together)
    for (std::int64_t text = 0, of_group = 0; text + 1 < texts; ++text) {
      of_group += lengths[static_cast<std::size_t>(text)];
      if (of_group < together) continue;
      groups.begins.push_back(text + 1);
      of_group = 0;
    }
  groups.begins.push_back(texts);
  return groups;
}

}  // namespace attend
