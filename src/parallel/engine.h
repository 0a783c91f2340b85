// Moves data between the processes of a run: an interface. The engine behind it is a module that is loaded
// only if a run has several processes (load_engine.h), so that other runs do not need its library.
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

// Named texts that all processes see. One connection serves one thread.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  virtual void set(const std::string& name, std::string_view text) = 0;
  virtual std::optional<std::string> get(const std::string& name) = 0;  // does not wait
};

// Work that has started. The memory that it reads and writes must stay valid until it is done.
class Pending {
 public:
  virtual ~Pending() = default;
  // Whether it is done, after waiting for at most `time`.
  virtual bool wait_for(std::chrono::milliseconds time) = 0;
};

// All processes call the collectives in the same order, each from one thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::unique_ptr<SharedStore> open_store() = 0;
  virtual void connect() = 0;  // after all processes have started, before the first collective
  // In place; all processes get the same bits.
  virtual std::unique_ptr<Pending> sum(std::span<float> numbers) = 0;
  virtual std::unique_ptr<Pending> sum(std::span<double> numbers) = 0;
  // The same for 16-bit numbers (IEEE half precision).
  virtual std::unique_ptr<Pending> sum_halves(std::span<std::uint16_t> numbers) = 0;
  virtual std::unique_ptr<Pending> broadcast(std::span<std::byte> bytes, std::int64_t root) = 0;
  // The `own` bytes of every rank, in the order of the ranks, on all processes.
  virtual std::unique_ptr<Pending> gather(std::span<std::byte> own, std::span<std::byte> all) = 0;
};

}  // namespace attend
