// Working memory that encoding uses again and again, one set per thread that is at work.
#pragma once

#include "tokenizers/models/model.h"
#include "tokenizers/text/text.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace attend::tokenizers {

struct Scratch {
  Pieces pieces;
  Tokens tokens;
  ModelScratch model;
};

// One set per thread where there are not too many threads, so that each finds its cache warm.
class ScratchPool {
  struct Slot {
    std::mutex mutex;
    Scratch scratch;
  };

 public:
  class Lease {
   public:
    Lease(std::unique_lock<std::mutex> lock, Scratch& scratch) : lock_(std::move(lock)), scratch_(scratch) {}
    Scratch& operator*() const { return scratch_; }

   private:
    std::unique_lock<std::mutex> lock_;
    Scratch& scratch_;
  };

  Lease borrow() {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t own = threads++;
    for (std::size_t i = 0; i < slot_count; ++i) {
      Slot& slot = slot_at((own + i) % slot_count);
      if (std::unique_lock lock(slot.mutex, std::try_to_lock); lock) return {std::move(lock), slot.scratch};
    }
    Slot& slot = slot_at(own % slot_count);
    return {std::unique_lock(slot.mutex), slot.scratch};
  }

 private:
  static constexpr std::size_t slot_count = 64;

  Slot& slot_at(std::size_t index) {
    Slot* slot = slots_[index].load(std::memory_order_acquire);
    if (slot != nullptr) return *slot;
    const std::lock_guard lock(mutex_);
    if (owned_[index] == nullptr) {
      owned_[index] = std::make_unique<Slot>();
      slots_[index].store(owned_[index].get(), std::memory_order_release);
    }
    return *owned_[index];
  }

  std::mutex mutex_;
  std::array<std::unique_ptr<Slot>, slot_count> owned_;
  std::array<std::atomic<Slot*>, slot_count> slots_{};
};

}  // namespace attend::tokenizers
