#include "nn/pass/reading_groups.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Numbers = std::vector<std::int64_t>;

// The tokens of each group.
Numbers tokens_of(const ReadingGroups& groups, const Numbers& lengths) {
  Numbers sums;
  for (std::size_t g = 0; g + 1 < groups.begins.size(); ++g)
    sums.push_back(std::accumulate(lengths.begin() + groups.begins[g], lengths.begin() + groups.begins[g + 1],
                                   std::int64_t{0}));
  return sums;
}

// Every text is in one group, in order, and no group is empty.
void expect_whole(const ReadingGroups& groups, const Numbers& lengths) {
  ASSERT_GE(groups.begins.size(), 2u);
  EXPECT_EQ(groups.begins.front(), 0);
  EXPECT_EQ(groups.begins.back(), static_cast<std::int64_t>(lengths.size()));
  for (std::size_t g = 0; g + 1 < groups.begins.size(); ++g)
    EXPECT_LT(groups.begins[g], groups.begins[g + 1]);
}

TEST(ReadingGroups, AreEqualForEqualTexts) {
  const Numbers lengths(32, 128);
  const ReadingGroups groups = reading_groups(lengths, 384, 2, true);
  EXPECT_TRUE(groups.on_one_thread_each);
  EXPECT_EQ(tokens_of(groups, lengths), Numbers(16, 256));
}

TEST(ReadingGroups, GiveEachThreadOneOfFewTokens) {
  const Numbers lengths(32, 16);
  EXPECT_EQ(tokens_of(reading_groups(lengths, 384, 2, true), lengths), (Numbers{256, 256}));
  EXPECT_EQ(tokens_of(reading_groups(lengths, 384, 8, true), lengths), Numbers(8, 64));
}

TEST(ReadingGroups, AreOneWhereThreadsWouldWaitForWeights) {
  for (const Numbers& lengths : {Numbers(2, 16), Numbers(1, 512), Numbers{}})
    EXPECT_EQ(reading_groups(lengths, 384, 2, true).count(), 1) << lengths.size();
}

TEST(ReadingGroups, AreOneWhereATextOutweighsTheOthers) {
  EXPECT_EQ(reading_groups(Numbers{16, 16, 400, 16}, 384, 2, true).count(), 1);
}

TEST(ReadingGroups, AreSmallerForTextsOfManyLengths) {
  Numbers lengths;
  for (std::int64_t i = 0; i < 60; ++i) lengths.push_back(8 + i * i * 37 % 190);
  const ReadingGroups groups = reading_groups(lengths, 384, 2, true);
  expect_whole(groups, lengths);
  EXPECT_TRUE(groups.on_one_thread_each);
  const Numbers tokens = tokens_of(groups, lengths);
  EXPECT_LT(*std::max_element(tokens.begin(), tokens.end()), 600);
}

TEST(ReadingGroups, AreForAllThreadsWhereTheyCannotReadApart) {
  const Numbers lengths(32, 128);
  const ReadingGroups groups = reading_groups(lengths, 384, 2, false);
  EXPECT_FALSE(groups.on_one_thread_each);
  EXPECT_EQ(tokens_of(groups, lengths), Numbers(8, 512));
  EXPECT_EQ(reading_groups(Numbers(8, 128), 384, 2, false).count(), 1);
}

TEST(ReadingGroups, OfOneThreadFollowEachOther) {
  const Numbers lengths(9, 100);
  const ReadingGroups groups = reading_groups(lengths, 384, 1, true);
  EXPECT_FALSE(groups.on_one_thread_each);
  EXPECT_EQ(tokens_of(groups, lengths), (Numbers{300, 300, 300}));
}

}  // namespace
}  // namespace attend
