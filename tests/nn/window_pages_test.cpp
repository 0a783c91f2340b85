// If every layer has a window, a cache frees the pages that the window has left.
#include "nn/attention/attention_function.h"
#include "nn/cache/cache.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kWindow = 20, kHeads = 2, kSize = 5, kRowWidth = kHeads * kSize;

struct Reader {
  PagedCache cache;
  PagedCache::Sequence sequence;
  AttentionCall call{
      .spec = {.heads = kHeads, .head_size = kSize, .scale = 0.5, .causal = true, .window = kWindow}};

  explicit Reader(std::int64_t window, ScalarType type = kFloat)
      : cache({.heads = kHeads, .head_size = kSize, .type = type}, 0, window), sequence(cache.add()) {}

  // The new tokens against everything before them: packed [T, 3 w] -> [T, w].
  Tensor read(const Tensor& packed) {
    const Offsets offsets({packed.size(0)});
    cache.extend(sequence, packed.size(0));
    cache.write(0, {sequence}, offsets, packed.narrow(1, kRowWidth, 2 * kRowWidth));
    return attention(packed, offsets, {.cache = &cache, .sequences = {&sequence, 1}}, {}, call);
  }
};

Tensor packed_rows(std::int64_t count, ScalarType type = kFloat) {
  Generator generator = ops::make_generator<ops::CPUGeneratorImpl>(1);
  Tensor rows = ops::empty({count, 3 * kRowWidth}, kFloat);
  rows.normal_(0, 1, generator);
  return rows.to(type);
}

TEST(WindowPages, AreFreedAndNothingElseChanges) {
  const Unrecorded no_grad;
  const Tensor packed = packed_rows(200);
  Reader keeps(0), leaves(kWindow);
  const auto both = [&](std::int64_t first, std::int64_t count) {
    const Tensor rows = packed.narrow(0, first, count), wanted = keeps.read(rows), got = leaves.read(rows);
    EXPECT_TRUE(ops::equal(got, wanted)) << first;
  };
  both(0, 100);  // a prompt
  EXPECT_EQ(leaves.cache.pages_in_use(), 7);
  EXPECT_EQ(leaves.cache.pages_to_extend(leaves.sequence, 100), 1);  // it frees five and takes six
  for (std::int64_t i = 100; i < 150; ++i) both(i, 1);
  both(150, 30);  // several at once, like draft tokens
  for (std::int64_t i = 180; i < 200; ++i) both(i, 1);
  EXPECT_EQ(keeps.cache.pages_in_use(), 13);
  EXPECT_EQ(leaves.cache.pages_in_use(),
            2);  // 200 tokens: 12 of the last 20 are in the page before the last
  leaves.cache.release(leaves.sequence);
  EXPECT_EQ(leaves.cache.pages_in_use(), 0);
}

TEST(WindowPages, AreFreedInOtherTypesToo) {
  const Unrecorded no_grad;
  const Tensor packed = packed_rows(70, kDouble);
  Reader keeps(0, kDouble), leaves(kWindow, kDouble);
  for (std::int64_t i = 0; i < 70; ++i) {
    const Tensor rows = packed.narrow(0, i, 1), wanted = keeps.read(rows);
    EXPECT_TRUE(ops::equal(leaves.read(rows), wanted)) << i;
  }
  EXPECT_LT(leaves.cache.pages_in_use(), keeps.cache.pages_in_use());
}

// A fork keeps the pages that it still sees, and frees them independently.
TEST(WindowPages, ForksHaveTheirOwn) {
  const Unrecorded no_grad;
  const Tensor packed = packed_rows(120);
  Reader leaves(kWindow);
  leaves.read(packed.narrow(0, 0, 40));
  const PagedCache::Sequence copy = leaves.cache.fork(leaves.sequence);
  for (std::int64_t i = 40; i < 120; ++i) leaves.read(packed.narrow(0, i, 1));
  EXPECT_EQ(leaves.cache.length(copy), 40);
  EXPECT_EQ(leaves.cache.pages_in_use(), 5);  // three of the fork and two of the other
  leaves.cache.release(leaves.sequence);
  leaves.cache.release(copy);
  EXPECT_EQ(leaves.cache.pages_in_use(), 0);
}

TEST(WindowPages, AreCountedByTheWindow) {
  const PagedCache all({}, 0), windows({}, 0, kWindow);
  EXPECT_EQ(all.pages_of(10, 1000), 63);
  EXPECT_EQ(windows.pages_of(10, 1000), 4);
  EXPECT_EQ(windows.pages_of(100, 1000), 7);
  EXPECT_EQ(windows.pages_of(10, 16), 1);
}

}  // namespace
}  // namespace attend
