// Reusable memory for encoding, one set per working thread.
#pragma once

#include "tokenizers/models/model.h"
#include "tokenizers/text/text.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace attend::tokenizers {

struct Scratch {
  Pieces pieces;
  Tokens tokens;
  ModelScratch model;

  // Frees memory that a large text has used. The word cache, which is limited, stays.
  void shrink() {
    constexpr std::size_t kept = std::size_t{1} << 20;  // in bytes: a text of some ten thousand words
    if (pieces.capacity_in_bytes() > kept) clear(pieces);
    if (tokens.capacity_in_bytes() > kept) clear(tokens);
    if (model.parts.capacity() * sizeof(TokenPart) > kept) clear(model.parts);
    if (model.text.capacity() > kept) clear(model.text);
  }

 private:
  // By a swap: assigning an empty string would keep the memory.
  template <class T>
  static void clear(T& value) {
    T empty;
    std::swap(value, empty);
  }
};

// One set for each thread that works at the same time. A thread prefers its last set, whose cache is warm.
class ScratchPool {
  struct Slot {
    std::mutex mutex;
    Scratch scratch;
  };

 public:
  class Lease {
   public:
    Lease(std::unique_lock<std::mutex> lock, Scratch& scratch) : lock_(std::move(lock)), scratch_(scratch) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { scratch_.shrink(); }
    Scratch& operator*() const { return scratch_; }

   private:
    std::unique_lock<std::mutex> lock_;
    Scratch& scratch_;
  };

  // A new thread tries the first set; if a thread's set is taken it uses the first free one. So threads that
  // run one after another, as in a server, share a set.
  Lease borrow() {
    thread_local std::size_t last = 0;
    if (std::unique_lock lock(slot_at(last).mutex, std::try_to_lock); lock)
      return {std::move(lock), slot_at(last).scratch};
    for (std::size_t i = 0; i < slot_count; ++i)
      if (std::unique_lock lock(slot_at(i).mutex, std::try_to_lock); lock) {
        last = i;
        return {std::move(lock), slot_at(i).scratch};
      }
    return {std::unique_lock(slot_at(last).mutex), slot_at(last).scratch};
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
