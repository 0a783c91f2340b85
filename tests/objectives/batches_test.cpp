#include "objectives/base/batches.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace attend {
namespace {

std::int64_t length(std::int64_t example) {
  return 1 + example * 7 % 50;
}

std::vector<std::vector<std::int64_t>> batches(const BatchSize& size, std::uint64_t seed = 1,
                                               bool shuffled = true) {
  return make_batches(1000, length, size, seed, 0, shuffled);
}

std::pair<std::int64_t, std::int64_t> shortest_and_longest(const std::vector<std::int64_t>& batch) {
  const auto [least, most] = std::minmax_element(
      batch.begin(), batch.end(), [](std::int64_t a, std::int64_t b) { return length(a) < length(b); });
  return {length(*least), length(*most)};
}

TEST(Batches, EveryExampleComesOnce) {
  for (const BatchSize& size : {BatchSize{100, 0}, BatchSize{100, 3}, BatchSize{unlimited_tokens, 32}}) {
    std::multiset<std::int64_t> seen;
    for (const auto& batch : batches(size)) {
      std::int64_t tokens = 0;
      for (const std::int64_t example : batch) tokens += length(example);
      EXPECT_LE(tokens, size.tokens);
      EXPECT_TRUE(size.examples == 0 || std::ssize(batch) <= size.examples);
      seen.insert(batch.begin(), batch.end());
    }
    EXPECT_EQ(seen.size(), 1000u);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1000u);
    EXPECT_EQ(batches(size), batches(size));
    EXPECT_NE(batches(size), batches(size, 2));
    EXPECT_NE(batches(size), make_batches(1000, length, size, 1, /*epoch=*/1)) << "another epoch";
  }
}

TEST(Batches, ByTokensHaveSimilarLengths) {
  for (const auto& batch : batches({200, 0})) {
    const auto [least, most] = shortest_and_longest(batch);
    EXPECT_LE(most - least, 4);
  }
}

TEST(Batches, ByNumberAreRandomSamples) {
  const auto all = batches({unlimited_tokens, 25});
  EXPECT_EQ(all.size(), 40u);
  for (const auto& batch : all) {
    const auto [least, most] = shortest_and_longest(batch);
    EXPECT_GT(most - least, 20) << "25 of 50 lengths";
  }
}

}  // namespace
}  // namespace attend
