// Work of several threads that is computed together.
#include "serve/models/gathered.h"

#include "temporary_directory.h"

#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

namespace attend::serve {
namespace {

TEST(Gathered, BatchesInputsThatArriveMeanwhile) {
  std::atomic<int> calls = 0;
  std::promise<void> begun, go_on;
  std::vector<std::size_t> sizes;  // of the batches, which one thread at a time appends
  Gathered<int, int> squares([&](const std::vector<int>& all) {
    sizes.push_back(all.size());
    if (++calls == 1) {
      begun.set_value();
      go_on.get_future().wait();
    }
    std::vector<int> results;
    for (const int x : all) results.push_back(x * x);
    return results;
  });
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  const auto ask = [&](int x) {
    threads.emplace_back([&, x] {
      right += squares.ask({x, x + 1}) == std::vector<int>{x * x, (x + 1) * (x + 1)};
    });
  };
  ask(3);
  begun.get_future().wait();
  for (int x = 10; x < 15; ++x) ask(x);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until all threads wait
  go_on.set_value();
  threads.clear();
  EXPECT_EQ(right, 6);
  // A thread that came too late for the second batch would make a third.
  EXPECT_LE(calls, 3);
  EXPECT_EQ(sizes.front(), 2u);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 12u);
}

TEST(Gathered, OnlyTheBadInputGetsTheError) {
  std::promise<void> begun, go_on;
  std::atomic<bool> first = true;
  Gathered<int, int> roots([&](const std::vector<int>& all) {
    if (first.exchange(false)) {
      begun.set_value();
      go_on.get_future().wait();
    }
    for (const int x : all)
      if (x < 0) throw Error("negative", ErrorKind::input);
    return all;
  });
  std::jthread busy([&] { roots.ask({0}); });
  begun.get_future().wait();
  auto good = std::async(std::launch::async, [&] { return roots.ask({7}); });
  auto bad = std::async(std::launch::async, [&] { return roots.ask({-7}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  go_on.set_value();
  EXPECT_EQ(good.get(), std::vector<int>{7});
  EXPECT_EQ(error_of([&] { bad.get(); }), "negative");
  EXPECT_EQ(roots.ask({5}), std::vector<int>{5});  // and later work succeeds
}

TEST(ByKey, EqualKeysGoTogetherAndResultsKeepTheirPlaces) {
  std::vector<std::vector<std::size_t>> calls;
  const auto results =
      by_key<int>(std::vector<int>{7, 5, 7}, [&](int key, const std::vector<std::size_t>& numbers) {
        calls.push_back(numbers);
        std::vector<int> some;
        for (const std::size_t i : numbers) some.push_back(key * 10 + static_cast<int>(i));
        return some;
      });
  EXPECT_EQ(results, (std::vector<int>{70, 51, 72}));
  EXPECT_EQ(calls, (std::vector<std::vector<std::size_t>>{{1}, {0, 2}}));
}

}  // namespace
}  // namespace attend::serve
