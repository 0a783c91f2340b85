#include "base/parallel.h"

#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace attend {
namespace {

constexpr std::size_t most_threads = 1024;
std::atomic<std::size_t> asked_threads = 0;
std::atomic<void (*)(std::size_t)> follower_of_count = nullptr;
thread_local bool inside_parallel_for = false;  // a nested call runs on its caller alone

}  // namespace

void set_thread_count(std::size_t count) {
  if (count > most_threads) fail("threads: expected at most {}, found {}", most_threads, count);
  asked_threads = count;
  if (const auto follower = follower_of_count.load()) follower(count);
}

void follow_thread_count(void (*follower)(std::size_t)) {
  follower_of_count = follower;
  if (asked_threads > 0) follower(asked_threads);
}

std::size_t thread_count() {
  static const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());  // asks the system
  const std::size_t asked = asked_threads;
  return asked > 0 ? asked : cores;
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::clamp<std::size_t>(grain, 1, count);
  const std::size_t pieces = (count - 1) / grain + 1;
  const std::size_t workers = inside_parallel_for ? 1 : std::min(thread_count(), pieces);

  std::atomic<std::size_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&] {
    const bool nested = std::exchange(inside_parallel_for, true);
    try {
      for (std::size_t piece; (piece = next.fetch_add(1)) < pieces;) {
        const std::size_t begin = piece * grain;
        body(begin, begin + std::min(grain, count - begin));
      }
    } catch (...) {
      next = pieces;  // nobody begins another piece
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
    inside_parallel_for = nested;
  };

  {
    std::vector<std::jthread> threads;
    threads.reserve(workers - 1);
    try {
      while (threads.size() + 1 < workers) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The system gives no more threads: those there are do the work.
    }
    work();
  }  // all threads have ended
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attend
