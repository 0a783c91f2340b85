// The processes of a run as threads of one test: an engine with collectives in shared memory.
#pragma once

#include "base/error.h"
#include "parallel/engine.h"
#include "parallel/ranks.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace attend {

// What the threads of one run share.
class ThreadRun {
 public:
  explicit ThreadRun(std::size_t size) : parts_(size) {}

  // Each rank passes its part; the last one calls `combine` with all parts, then all continue.
  void meet(std::size_t rank, std::span<std::byte> part,
            const std::function<void(std::span<const std::span<std::byte>>)>& combine) {
    std::unique_lock lock(mutex_);
    parts_[rank] = part;
    const std::uint64_t round = round_;
    if (++arrived_ == parts_.size()) {
      combine(parts_);
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
  }

  void set(const std::string& name, std::string_view text) {
    const std::scoped_lock lock(mutex_);
    texts_[name] = text;
  }
  std::optional<std::string> get(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = texts_.find(name);
    return found == texts_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::span<std::byte>> parts_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  std::map<std::string, std::string> texts_;
};

class ThreadEngine : public Engine {
 public:
  ThreadEngine(ThreadRun& run, std::size_t rank) : run_(run), rank_(rank) {}

  std::unique_ptr<SharedStore> open_store() override {
    struct Store : SharedStore {
      explicit Store(ThreadRun& r) : run(r) {}
      void set(const std::string& name, std::string_view text) override { run.set(name, text); }
      std::optional<std::string> get(const std::string& name) override { return run.get(name); }
      ThreadRun& run;
    };
    return std::make_unique<Store>(run_);
  }
  void connect() override {}

  std::unique_ptr<Pending> sum(std::span<float> numbers) override { return sum_of(numbers); }
  std::unique_ptr<Pending> sum(std::span<double> numbers) override { return sum_of(numbers); }
  std::unique_ptr<Pending> sum_halves(std::span<std::uint16_t> numbers) override {
    return sum_of(std::span(reinterpret_cast<_Float16*>(numbers.data()), numbers.size()));
  }
  std::unique_ptr<Pending> broadcast(std::span<std::byte> bytes, std::int64_t root) override {
    run_.meet(rank_, bytes, [&](auto parts) {
      const std::span<std::byte> from = parts[static_cast<std::size_t>(root)];
      for (const std::span<std::byte> to : parts)
        if (to.data() != from.data()) std::ranges::copy(from, to.begin());
    });
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> gather(std::span<std::byte> own, std::span<std::byte> all) override {
    struct Gathering {
      std::span<std::byte> own, all;
    } mine{own, all};
    run_.meet(rank_, std::as_writable_bytes(std::span(&mine, 1)), [](auto parts) {
      for (const std::span<std::byte> to : parts) {
        auto next = reinterpret_cast<const Gathering*>(to.data())->all.begin();
        for (const std::span<std::byte> from : parts)
          next = std::ranges::copy(reinterpret_cast<const Gathering*>(from.data())->own, next).out;
      }
    });
    return std::make_unique<Done>();
  }

 private:
  struct Done : Pending {
    bool wait_for(std::chrono::milliseconds /*time*/) override { return true; }
  };

  template <class T>
  std::unique_ptr<Pending> sum_of(std::span<T> numbers) {
    run_.meet(rank_, std::as_writable_bytes(numbers), [&](auto parts) {
      std::vector<T> total(numbers.size());
      for (const std::span<std::byte> part : parts)
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += reinterpret_cast<const T*>(part.data())[i];
      for (const std::span<std::byte> part : parts)
        std::ranges::copy(total, reinterpret_cast<T*>(part.data()));
    });
    return std::make_unique<Done>();
  }

  ThreadRun& run_;
  std::size_t rank_;
};

// Calls `work` on `size` threads, each with its own Ranks. Throws the exception of the lowest failing rank.
inline void on_ranks(std::size_t size, const std::function<void(Ranks&)>& work) {
  ThreadRun run(size);
  std::vector<std::exception_ptr> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        ProcessPlace place;
        place.rank = static_cast<std::int64_t>(rank);
        place.size = static_cast<std::int64_t>(size);
        Ranks ranks(std::make_unique<ThreadEngine>(run, rank), place, 20);
        work(ranks);
        ranks.leave();
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace attend
