// ALiBi: the term that each head adds for the position of a key.
#include "nn/attention/distances.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

DistanceTable table_of(const LinearDistances& spec, std::int64_t heads, bool causal, std::int64_t longest) {
  Distances distances(spec, heads * 4, AttentionSpec{.heads = heads, .head_size = 4, .causal = causal});
  return distances->forward(longest, ops::zeros({1}, kFloat), /*ahead=*/false);
}

// The term of head `head` for a key at `key` and a query at `query`.
float added(const DistanceTable& table, std::int64_t head, std::int64_t key, std::int64_t query) {
  const std::int64_t row = table.rows[table.zero + key - (table.by_key ? 0 : query)].item<std::int32_t>();
  return table.of_head[head][row].item<float>();
}

TEST(LinearDistances, GrowWithTheKeysPlace) {
  const DistanceTable table = table_of({}, 4, /*causal=*/true, 6);
  EXPECT_TRUE(table.by_key);
  EXPECT_FLOAT_EQ(added(table, 0, 3, 5), 3 / 4.0F);
  EXPECT_FLOAT_EQ(added(table, 0, 3, 4), 3 / 4.0F);
  EXPECT_FLOAT_EQ(added(table, 1, 5, 5), 5 / 16.0F);
  EXPECT_FLOAT_EQ(added(table, 3, 5, 5), 5 / 256.0F);
}

TEST(LinearDistances, HaveSlopesForAnyNumberOfHeads) {
  const DistanceTable table = table_of({.factor = 0.5}, 3, /*causal=*/true, 2);
  EXPECT_FLOAT_EQ(added(table, 0, 1, 1), 0.5F / 16);
  EXPECT_FLOAT_EQ(added(table, 1, 1, 1), 0.5F / 256);
  EXPECT_FLOAT_EQ(added(table, 2, 1, 1), 0.5F / 4);  // the first of four heads
}

TEST(LinearDistances, FallWithTheDistanceWhereBothSidesAreSeen) {
  const DistanceTable table = table_of({}, 4, /*causal=*/false, 6);
  EXPECT_FALSE(table.by_key);
  EXPECT_FLOAT_EQ(added(table, 0, 1, 4), -3 / 4.0F);
  EXPECT_FLOAT_EQ(added(table, 0, 4, 1), -3 / 4.0F);
  EXPECT_FLOAT_EQ(added(table, 0, 2, 2), 0);
}

// 257 and a quarter of it need more bits than bfloat16 has.
TEST(LinearDistances, AreRoundedWhereTheOriginalRounds) {
  const DistanceTable exact = table_of({}, 4, /*causal=*/true, 300),
                      rounded = table_of({.in_bfloat16 = true}, 4, /*causal=*/true, 300);
  EXPECT_FLOAT_EQ(added(exact, 0, 257, 299), 257 / 4.0F);
  EXPECT_FLOAT_EQ(added(rounded, 0, 257, 299), 256 / 4.0F);
}

}  // namespace
}  // namespace attend
