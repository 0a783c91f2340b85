// What each process of a run reports about itself while it lives, so that the others can name a process that
// is lost, hangs or is late. Collectives cannot: a process that waits for a sum sees only that a neighbour
// does not answer, and that neighbour may be waiting as well.
#pragma once

#include "parallel/engine.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace attend {

// Writes a beat twice a second on its own thread: the beat's number, where the process is in the run, and
// whether it waits for others.
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

// Leaves a message for the others: this process ends because of an error of its own.
void leave_last_words(SharedStore& store, std::int64_t rank, const std::string& error);

std::optional<std::string> last_words(SharedStore& store);  // "rank 1 has ended: ..."

// Names the processes that caused a collective to fail, as a sentence: one that left an error, those whose
// beats have stopped, or those that are not waiting. Takes a few seconds, because silence takes time to
// notice.
std::string find_culprit(SharedStore& store, std::int64_t rank, std::int64_t size);

}  // namespace attend
