// and stores that do not answer
#include "parallel/ranks.h"

#include "parallel/bounded_store.h"
#include "parallel/thread_ranks.h"

#include <numeric>
#include <semaphore>

#include <gtest/gtest.h>

namespace attend {
namespace {

using namespace std::chrono_literals;

TEST(Ranks, AddUpBroadcastAndCollect) {
  on_ranks(3, [](Ranks& ranks) {
    const auto rank = static_cast<double>(ranks.rank());
    EXPECT_EQ(ranks.size(), 3);
    EXPECT_EQ(ranks.sum(rank + 1), 6);
    std::vector<float> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(rank));
    ranks.begin_sum(numbers)->wait();
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<float>(3 * i + 3));
    EXPECT_EQ(ranks.broadcast(fmt::format("I am {}", rank), 1), "I am 1");
    EXPECT_EQ(ranks.gather(std::string(static_cast<std::size_t>(ranks.rank()), 'x')),
              (std::vector<std::string>{"", "x", "xx"}));
  });
}

// Answers only after it was released.
struct SilentStore : SharedStore {
  void set(const std::string& /*name*/, std::string_view /*text*/) override { released.acquire(); }
  std::optional<std::string> get(const std::string& /*name*/) override {
    released.acquire();
    return "an answer";
  }
  std::counting_semaphore<> released{0};
};

TEST(BoundedStore, DoesNotWaitForAStoreThatIsSilent) {
  auto silent = std::make_unique<SilentStore>();
  std::counting_semaphore<>& released = silent->released;
  BoundedStore store(std::move(silent), 50ms);
  released.release();
  EXPECT_EQ(store.get("a"), "an answer");
  EXPECT_THROW(store.get("a"), std::runtime_error);
  released.release();  // the late call ends, but its answer is discarded
  EXPECT_THROW(store.set("a", "b"), std::runtime_error);
}

}  // namespace
}  // namespace attend
