// The threads that last: every item once, whoever asks, whatever fails.
#include "base/thread_pool.h"

#include "base/error.h"
#include "base/parallel.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attend {
namespace {

class ThreadPool : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }

  // How often each of `count` items was met.
  static std::vector<int> met(std::int64_t count, std::int64_t pieces) {
    std::vector<int> times(static_cast<std::size_t>(count));
    run_on_pool(count, pieces, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
    });
    return times;
  }
};

TEST_P(ThreadPool, MeetsEveryItemOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 17, 1000})
    for (const std::int64_t pieces : {1, 2, 5, 2000})
      EXPECT_EQ(met(count, pieces), std::vector<int>(static_cast<std::size_t>(count), 1))
          << count << " " << pieces;
}

TEST_P(ThreadPool, LastsThroughManyShortPieces) {
  std::atomic<std::int64_t> sum = 0;
  for (int round = 0; round < 5000; ++round)
    run_on_pool(4, 4, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 20000);
}

TEST_P(ThreadPool, WhatAPieceThrowsIsThrownAndForgotten) {
  const auto failing = [](std::int64_t begin, std::int64_t end) {
    if (begin <= 50 && 50 < end) fail("item {} is bad", 50);
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(run_on_pool(100, 10, failing), Error);
    EXPECT_EQ(met(100, 10), std::vector<int>(100, 1));
  }
}

TEST_P(ThreadPool, APieceMayAskForMore) {
  std::atomic<std::int64_t> sum = 0;
  run_on_pool(8, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      run_on_pool(10, 5, [&](std::int64_t from, std::int64_t to) { sum += to - from; });
  });
  EXPECT_EQ(sum, 80);
}

TEST_P(ThreadPool, ServesManyCallersAtATime) {
  std::atomic<std::int64_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 6; ++caller)
      callers.emplace_back([&] {
        for (int round = 0; round < 200; ++round)
          run_on_pool(30, 3, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
      });
  }
  EXPECT_EQ(sum, 6 * 200 * 30);
}

TEST_P(ThreadPool, FollowsTheNumberOfThreads) {
  for (const std::size_t threads : {3, 1, 2, 4}) {
    set_thread_count(threads);
    EXPECT_EQ(met(50, 8), std::vector<int>(50, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPool, testing::Values(1, 2, 5));

}  // namespace
}  // namespace attend
