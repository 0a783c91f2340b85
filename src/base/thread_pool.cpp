#include "base/thread_pool.h"

#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace attend {
namespace {

// For so long a thread looks whether there is work before it sleeps: pieces of one step follow each other
// within some ten microseconds.
constexpr std::chrono::microseconds kPatience{200};
thread_local bool on_pool = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` is no longer `old`.
void wait_for_change(const std::atomic<std::uint64_t>& value, std::uint64_t old) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 64; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

class Pool {
 public:
  void run(std::int64_t count, std::int64_t pieces,
           const std::function<void(std::int64_t, std::int64_t)>& body) {
    const std::unique_lock use(using_, std::try_to_lock);
    if (!use || on_pool) return body(0, count);
    resize(std::min<std::size_t>(thread_count(), kMost));
    body_ = &body;
    count_ = count;
    pieces_ = pieces;
    next_ = 0;
    failure_ = nullptr;
    left_.store(workers_.size(), std::memory_order_relaxed);
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
    work();
    for (std::uint64_t left; (left = left_.load(std::memory_order_acquire)) != 0;)
      wait_for_change(left_, left);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t kMost = 256;

  // The callers' threads are one of the `threads`.
  void resize(std::size_t threads) {
    if (workers_.size() + 1 == std::max<std::size_t>(threads, 1) || threads == refused_) return;
    stop();
    stopping_ = false;
    try {
      while (workers_.size() + 1 < threads)
        workers_.emplace_back([this, seen = started_.load()] { serve(seen); });
    } catch (const std::system_error&) {
      refused_ = threads;  // the system gives no more: those there are do the work
    }
  }

  void stop() {
    stopping_ = true;
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void serve(std::uint64_t seen) {
    while (true) {
      wait_for_change(started_, seen);
      ++seen;
      if (stopping_) return;
      work();
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }

  void work() {
    on_pool = true;
    const std::int64_t each = (count_ + pieces_ - 1) / pieces_;
    try {
      for (std::int64_t piece; (piece = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_;) {
        const std::int64_t begin = piece * each;
        if (begin < count_) (*body_)(begin, std::min(count_, begin + each));
      }
    } catch (...) {
      next_ = pieces_;  // nobody begins another piece
      const std::lock_guard lock(failing_);
      if (!failure_) failure_ = std::current_exception();
    }
    on_pool = false;
  }

  std::mutex using_, failing_;
  std::vector<std::thread> workers_;
  std::size_t refused_ = 0;
  std::atomic<bool> stopping_ = false;
  // Of the work that runs. A worker reads it once `started_` has grown, and is done with it when `left_`
  // falls.
  const std::function<void(std::int64_t, std::int64_t)>* body_ = nullptr;
  std::int64_t count_ = 0, pieces_ = 1;
  std::exception_ptr failure_;
  alignas(64) std::atomic<std::uint64_t> started_ = 0;
  alignas(64) std::atomic<std::uint64_t> left_ = 0;
  alignas(64) std::atomic<std::int64_t> next_ = 0;
};

}  // namespace

void run_on_pool(std::int64_t count, std::int64_t pieces,
                 const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  if (pieces <= 1 || on_pool || thread_count() == 1) return body(0, count);
  static Pool& pool = *new Pool;  // lives as long as the process, whose end does not wait for its threads
  pool.run(count, pieces, body);
}

}  // namespace attend
