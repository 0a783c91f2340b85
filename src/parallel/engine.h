// What moves numbers between the processes of a run: an interface of our own. The engine behind it is a
// module that is loaded when a run has several processes (load_engine.h), so that nobody else needs its
// library.
//
// Every call of an Engine may throw any std::exception; Ranks (ranks.h) turns it into an Error that says
// which process is lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attend {

// Texts by name that all processes see. One connection serves one thread.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  virtual void set(const std::string& name, std::string_view text) = 0;
  virtual std::optional<std::string> get(const std::string& name) = 0;  // does not wait
};

// Work that has begun. What it reads and writes stays where it is until the work is done.
class Pending {
 public:
  virtual ~Pending() = default;
  // Whether it is done, after so long at most.
  virtual bool wait_for(std::chrono::milliseconds time) = 0;
};

// All processes call the collectives in the same order, each from one thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::unique_ptr<SharedStore> open_store() = 0;
  virtual void connect() = 0;  // once all processes are there, before the first collective
  // In place; the same bits on all.
  virtual std::unique_ptr<Pending> sum(std::span<float> numbers) = 0;
  virtual std::unique_ptr<Pending> sum(std::span<double> numbers) = 0;
  // The same of numbers of 16 bits (IEEE's half precision).
  virtual std::unique_ptr<Pending> sum_halves(std::span<std::uint16_t> numbers) = 0;
  virtual std::unique_ptr<Pending> broadcast(std::span<std::byte> bytes, std::int64_t root) = 0;
  // As many of every rank, behind one another, on all.
  virtual std::unique_ptr<Pending> gather(std::span<std::byte> own, std::span<std::byte> all) = 0;
};

}  // namespace attend
