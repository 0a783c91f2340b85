// What each process of a run says of itself while it lives, so that the others can name the one that is lost,
// hung or late. Collectives alone cannot: who waits for a sum sees only that a neighbour does not answer, and
// that one may be waiting as well.
#pragma once

#include "parallel/engine.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace attend {

// Writes a beat twice a second, on a thread of its own: its number, where the process is, and whether it
// waits for others.
class Heartbeat {
 public:
  Heartbeat(std::unique_ptr<SharedStore> store, std::int64_t rank);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void at(std::string place);
  void waits(bool waits);
  std::string place() const;

 private:
  void run();

  std::unique_ptr<SharedStore> store_;
  std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string place_ = "the start";
  bool waits_ = false, stopping_ = false;
  std::thread thread_;
};

// The process ends because of an error of its own, which the others are to hear.
void leave_last_words(SharedStore& store, std::int64_t rank, const std::string& error);

std::optional<std::string> last_words(SharedStore& store);  // "rank 1 has ended: ..."

// Which processes are to blame for a collective that failed, as a sentence: one that left an error, those
// whose beats have stopped, or those that do something else than wait. Takes a few seconds, for a silence
// takes time.
std::string find_culprit(SharedStore& store, std::int64_t rank, std::int64_t size);

}  // namespace attend
