#include "base/large_memory.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

struct Block {
  std::byte* begin;
  std::size_t bytes;
  unsigned char mark;
};

// Allocates and frees blocks of all sizes at random; each must keep what was written into it.
void take_and_give_back(LargeMemory& memory, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  const auto give_back = [&](std::size_t i) {
    const Block block = blocks[i];
    blocks[i] = blocks.back();
    blocks.pop_back();
    for (const std::size_t at : {std::size_t{0}, block.bytes / 2, block.bytes - 1})
      EXPECT_EQ(block.begin[at], std::byte{block.mark});
    memory.give_back(block.begin, block.bytes);
  };
  for (int n = 0; n < 300; ++n) {
    const std::size_t bytes = 1 + random() % (std::size_t{1} << (10 + random() % 14));
    const Block block{memory.take(bytes), bytes, static_cast<unsigned char>(random())};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.begin) % 64, 0u);
    std::memset(block.begin, block.mark, bytes);
    blocks.push_back(block);
    if (random() % 2 == 0) give_back(random() % blocks.size());
  }
  while (!blocks.empty()) give_back(random() % blocks.size());
}

TEST(LargeMemory, BlocksDoNotOverlap) {
  LargeMemory memory;
  take_and_give_back(memory, 1);
  EXPECT_EQ(memory.mapped(), 0u) << "when no block is left, all goes back";
  std::vector<std::thread> threads;
  for (unsigned seed = 2; seed < 6; ++seed)
    threads.emplace_back([&, seed] { take_and_give_back(memory, seed); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.mapped(), 0u);
}

TEST(LargeMemory, JoinsAdjacentFreeBlocks) {
  LargeMemory memory;
  std::byte* const kept = memory.take(kMegabyte);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 60; ++i) blocks.push_back(memory.take(kMegabyte));
  const std::size_t before = memory.mapped();
  EXPECT_EQ(before, 64 * kMegabyte);
  // Every second block, then those between them: each has neighbours on both sides.
  for (std::size_t first : {0, 1})
    for (std::size_t i = first; i < blocks.size(); i += 2) memory.give_back(blocks[i], kMegabyte);
  std::byte* const large = memory.take(60 * kMegabyte);
  EXPECT_EQ(memory.mapped(), before);
  EXPECT_EQ(large, blocks.front());
  memory.give_back(large, 60 * kMegabyte);
  memory.give_back(kept, kMegabyte);
  EXPECT_EQ(memory.mapped(), 0u);
}

TEST(LargeMemory, HasARegionForABlockThatIsLarger) {
  LargeMemory memory;
  std::byte* const block = memory.take(100 * kMegabyte);
  block[100 * kMegabyte - 1] = std::byte{1};
  EXPECT_EQ(memory.mapped(), 102 * kMegabyte);
  memory.give_back(block, 100 * kMegabyte);
}

TEST(LargeMemory, ReportsWhenThereIsNone) {
  LargeMemory memory;
  EXPECT_THROW(memory.take(std::size_t{1} << 44), std::bad_alloc);  // more than any machine has
  EXPECT_THROW(memory.take(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_THROW(memory.take(~std::size_t{0}), std::bad_alloc);
  EXPECT_EQ(memory.mapped(), 0u);
}

}  // namespace
}  // namespace attend
