#include "base/parallel.h"

#include "base/cores.h"
#include "expect_error.h"
#include "temporary_directory.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attend {
namespace {

// Sets the number of threads for one test.
class Threads {
 public:
  explicit Threads(std::size_t count) { set_thread_count(count); }
  ~Threads() { set_thread_count(0); }
};

TEST(ParallelFor, VisitsEveryItemOnce) {
  const Threads threads(4);
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    for (const std::size_t grain : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000},
                                    std::numeric_limits<std::size_t>::max()}) {
      std::vector<std::atomic<int>> visits(count);
      parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, std::max<std::size_t>(grain, 1));
        for (std::size_t i = begin; i < end; ++i) ++visits.at(i);
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1);
    }
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  const Threads threads(3);
  std::mutex lock;
  std::set<std::thread::id> seen;
  std::atomic<int> arrived = 0;
  parallel_for(3, 1, [&](std::size_t, std::size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();  // ends only if all three pieces run at once
    const std::lock_guard guard(lock);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(ParallelFor, RethrowsAndStops) {
  const Threads threads(4);
  std::atomic<int> pieces = 0;
  const std::string message = error_of([&] {
    parallel_for(1'000'000, 1, [&](std::size_t begin, std::size_t) {
      ++pieces;
      if (begin == 10) throw Error("piece 10");
    });
  });
  EXPECT_EQ(message, "piece 10");
  EXPECT_LT(pieces, 1'000'000);
}

TEST(ParallelFor, NestedRunsOnItsCaller) {
  const Threads threads(4);
  std::atomic<int> sum = 0;
  parallel_for(4, 1, [&](std::size_t, std::size_t) {
    const auto caller = std::this_thread::get_id();
    parallel_for(8, 1, [&](std::size_t, std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // time for other threads to take a piece
      ++sum;
    });
  });
  EXPECT_EQ(sum, 32);
}

TEST(ParallelFor, RunsManyShortPieces) {
  for (const std::size_t count : {1, 2, 5}) {
    const Threads threads(count);
    std::atomic<std::size_t> sum = 0;
    for (int round = 0; round < 5000; ++round)
      parallel_for(4, 1, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 20000u);
  }
}

TEST(ParallelFor, GoesOnAfterAFailure) {
  for (const std::size_t count : {1, 3}) {
    const Threads threads(count);
    for (int round = 0; round < 3; ++round) {
      EXPECT_ERROR("the piece at 50", parallel_for(100, 10, [](std::size_t begin, std::size_t) {
                     if (begin == 50) throw Error("the piece at 50");
                   }));
      std::atomic<std::size_t> sum = 0;
      parallel_for(100, 10, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
      EXPECT_EQ(sum, 100u);
    }
  }
}

TEST(ParallelFor, ServesManyCallersAtATime) {
  const Threads threads(3);
  std::atomic<std::size_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 6; ++caller)
      callers.emplace_back([&] {
        for (int round = 0; round < 200; ++round)
          parallel_for(30, 10, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
      });
  }
  EXPECT_EQ(sum, 6u * 200 * 30);
}

TEST(ParallelFor, FollowsTheNumberOfThreads) {
  for (const std::size_t count : {3, 1, 2, 4}) {
    const Threads threads(count);
    std::mutex lock;
    std::set<std::thread::id> seen;
    std::atomic<std::size_t> arrived = 0;
    parallel_for(count, 1, [&](std::size_t, std::size_t) {
      ++arrived;
      while (arrived < count) std::this_thread::yield();
      const std::lock_guard guard(lock);
      seen.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(seen.size(), count);
  }
}

TEST(ThreadCount, IsTheRequestedNumber) {
  EXPECT_EQ(thread_count(), usable_cores());
  {
    const Threads threads(7);
    EXPECT_EQ(thread_count(), 7u);
  }
  EXPECT_TRUE(
      contains(error_of([] { set_thread_count(1'000'000); }), "expected at most 1024, found 1000000"));
}

}  // namespace
}  // namespace attend
