// The reusable memory of encoding.
#include "tokenizers/scratch.h"

#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

TEST(ScratchPool, GivesTheMemoryOfLargeTextsBack) {
  ScratchPool pool;
  const auto sizes = [](const Scratch& scratch) {
    return std::vector<std::size_t>{scratch.pieces.capacity_in_bytes(), scratch.tokens.capacity_in_bytes(),
                                    scratch.model.parts.capacity(), scratch.model.text.capacity()};
  };
  const auto use = [&](std::size_t count) {
    const auto scratch = pool.borrow();
    Scratch& s = *scratch;
    s.pieces.text.assign(count, 'a');
    s.pieces.pieces.resize(count);
    s.tokens.ids.resize(count);
    s.tokens.places.resize(count);
    s.model.parts.resize(count);
    s.model.text.assign(count, 'a');
    return sizes(s);
  };
  use(10'000);
  const auto usual = sizes(*pool.borrow());
  EXPECT_GE(usual[0], 10'000u) << "what a small text needs stays";
  EXPECT_GE(usual[2], 10'000u);
  use(5'000'000);
  for (const std::size_t size : sizes(*pool.borrow())) EXPECT_LE(size, std::size_t{1} << 20);
}

TEST(ScratchPool, IsSharedByThreadsThatComeOneAfterAnother) {
  ScratchPool pool;
  std::set<const Scratch*> used;
  for (int i = 0; i < 20; ++i) std::thread([&] { used.insert(&*pool.borrow()); }).join();
  EXPECT_EQ(used.size(), 1u);
}

TEST(ScratchPool, GivesThreadsAtWorkSetsOfTheirOwn) {
  ScratchPool pool;
  const auto first = pool.borrow();
  const Scratch* second = nullptr;
  std::thread([&] { second = &*pool.borrow(); }).join();
  EXPECT_NE(second, nullptr);
  EXPECT_NE(second, &*first);
}

TEST(WordCache, BoundsLongWordsByTheirBytes) {
  WordCache cache;
  const std::vector<TokenPart> parts(256);
  const auto word = [](int i) { return std::to_string(i) + std::string(200, 'x'); };
  cache.insert_long(word(0), parts);
  EXPECT_NE(cache.find_long(word(0)), nullptr);
  for (int i = 1; i < 10'000; ++i) cache.insert_long(word(i), parts);  // 23 MB
  EXPECT_EQ(cache.find_long(word(0)), nullptr);
  EXPECT_NE(cache.find_long(word(9'999)), nullptr);
}

}  // namespace
}  // namespace attend::tokenizers
