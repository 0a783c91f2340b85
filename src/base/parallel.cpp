#include "base/parallel.h"

#include "base/cores.h"
#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace attend {
namespace {

constexpr std::size_t max_threads = 1024;
std::atomic<std::size_t> asked_threads = 0;
std::atomic<void (*)(std::size_t)> follower_of_count = nullptr;
thread_local bool inside_parallel_for = false;  // a nested call runs only on its caller's thread

// How long a thread spins before it sleeps: the pieces of a step follow each other within some ten
// microseconds.
constexpr std::chrono::microseconds patience{200};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` is no longer `old`. If that takes longer than pieces usually do, another thread may
// need this core: then calls patient(), and once more if the thread has slept, which `asleep` counts.
template <class Patient>
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old, std::atomic<int>& asleep,
                     const Patient& patient) {
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  for (int i = 0; i < 512; ++i) {
    if (changed()) return;
    pause();
  }
  patient();
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    if (changed()) return;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  asleep.fetch_add(1, std::memory_order_relaxed);
  value.wait(old, std::memory_order_acquire);
  asleep.fetch_sub(1, std::memory_order_relaxed);
  patient();
}

// The pieces of one thread; those from `next` on are not started yet.
struct alignas(64) Share {
  std::atomic<std::size_t> next = 0;
  std::size_t end = 0;
};

// One call of parallel_for. Every call assigns pieces to threads in the same way, and a thread begins with
// its own, because the data that it wrote in the last call is in its cache. Then it takes the pieces that are
// left of other threads.
struct Work {
  std::size_t count, grain;
  const std::function<void(std::size_t, std::size_t)>& body;
  std::span<Share> shares = {};
  std::mutex failing = {};
  std::exception_ptr failure = {};
  ErrorKind kind = ErrorScope::kind();  // of errors, on every thread

  std::size_t pieces() const { return (count - 1) / grain + 1; }
  void share_out(std::span<Share> among) {
    shares = among;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].next.store(pieces() * i / shares.size(), std::memory_order_relaxed);
      shares[i].end = pieces() * (i + 1) / shares.size();
    }
  }
  // Runs pieces until none is left, first those of its own share. Thread-safe.
  void help(std::size_t own) {
    const ErrorScope scope(kind);
    const bool nested = std::exchange(inside_parallel_for, true);
    try {
      for (std::size_t i = 0; i < shares.size(); ++i) {
        Share& share = shares[(own + i) % shares.size()];
        for (std::size_t piece; (piece = share.next.fetch_add(1)) < share.end;) {
          const std::size_t begin = piece * grain;
          body(begin, begin + std::min(grain, count - begin));
        }
      }
    } catch (...) {
      for (Share& share : shares) share.next = share.end;  // no further piece starts
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
    inside_parallel_for = nested;
  }
};

class Pool {
 public:
  // Lives as long as the process, which does not wait for its threads at exit.
  static Pool& get() {
    static Pool& pool = *new Pool;
    return pool;
  }

  // Returns false if the threads work for another call.
  bool run(Work& work) {
    const std::unique_lock use(using_, std::try_to_lock);
    if (!use) return false;
    const bool wakes = resize(thread_count()) || asleep_.load(std::memory_order_relaxed) > 0;
    work.share_out(shares_);
    work_ = &work;
    inside_.store(0, std::memory_order_release);
    core_of_caller_.store(this_core(), std::memory_order_relaxed);
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
    // The system may wake a worker on this core, where it would wait for the end of the caller's time slice,
    // some milliseconds. Yield, so that the worker can move to another core.
    if (wakes) std::this_thread::yield();
    work.help(0);
    for (std::uint32_t inside = inside_.fetch_or(closed, std::memory_order_acq_rel) | closed;
         inside != closed; inside = inside_.load(std::memory_order_acquire))
      wait_for_change(inside_, inside, asleep_, [] {});
    return true;
  }

 private:
  // The caller's thread is one of the `threads`. True: there are new ones.
  bool resize(std::size_t threads) {
    if (workers_.size() + 1 == threads || threads == refused_) return false;
    stop();
    core_of_caller_.store(this_core(), std::memory_order_relaxed);
    try {
      while (workers_.size() + 1 < threads)
        workers_.emplace_back(
            [this, seen = started_.load(), own = workers_.size() + 1] { serve(own, seen); });
    } catch (const std::system_error&) {
      refused_ = threads;  // the system gives no more: those there are do the work
    }
    shares_ = std::vector<Share>(workers_.size() + 1);
    return true;
  }

  void stop() {
    stopping_ = true;
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  void serve(std::size_t own, std::uint32_t seen) {
    // Two on one core take turns, until the system notices after a hundred milliseconds.
    const auto leave_caller = [this] { leave_core(core_of_caller_.load(std::memory_order_relaxed)); };
    leave_caller();
    while (true) {
      wait_for_change(started_, seen, asleep_, leave_caller);
      seen = started_.load(std::memory_order_acquire);
      if (stopping_) return;
      if (!enter()) continue;
      work_->help(own);
      if (inside_.fetch_sub(1, std::memory_order_acq_rel) == closed + 1) inside_.notify_one();
    }
  }

  bool enter() {
    std::uint32_t inside = inside_.load(std::memory_order_relaxed);
    do {
      if (inside >= closed) return false;
    } while (!inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel));
    return true;
  }

  std::mutex using_;
  std::vector<std::thread> workers_;
  std::vector<Share> shares_ = std::vector<Share>(1);  // the caller's first, then each worker's
  std::size_t refused_ = 0;
  std::atomic<bool> stopping_ = false;
  // A worker that comes when the caller has nothing left to begin finds the work closed, and the caller has
  // waited only for those inside: other programs need the cores too, so one may come milliseconds late.
  static constexpr std::uint32_t closed = 1u << 31;
  Work* work_ = nullptr;                                    // for those inside
  std::atomic<int> asleep_ = 0;                             // how many threads of this pool
  std::atomic<int> core_of_caller_ = -1;                    // which workers leave to it
  alignas(64) std::atomic<std::uint32_t> started_ = 0;      // how many works
  alignas(64) std::atomic<std::uint32_t> inside_ = closed;  // how many workers are at the work
};

}  // namespace

void v1::set_thread_count(std::size_t count) {
  if (count > max_threads) fail("threads: expected at most {}, found {}", max_threads, count);
  asked_threads = count;
  if (const auto follower = follower_of_count.load()) follower(count);
}

void follow_thread_count(void (*follower)(std::size_t)) {
  follower_of_count = follower;
  if (asked_threads > 0) follower(asked_threads);
}

std::size_t v1::thread_count() {
  static const std::size_t cores = usable_cores();
  const std::size_t asked = asked_threads;
  return asked > 0 ? asked : cores;
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  Work work{count, std::clamp<std::size_t>(grain, 1, count), body};
  const bool alone = inside_parallel_for || work.pieces() == 1 || thread_count() == 1;
  if (alone || !Pool::get().run(work)) {
    Share all;
    work.share_out({&all, 1});
    work.help(0);
  }
  if (work.failure) std::rethrow_exception(work.failure);
}

}  // namespace attend
