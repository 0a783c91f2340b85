// How a queue's request ended, and the state of a queue.
#pragma once

#include <attend/error.h>

#include <cstddef>
#include <cstdint>

namespace attend {
inline namespace v1 {

enum class QueueEnd { finished, cancelled, failed };

// Times of a request, in seconds after its submission; 0 for what has not happened.
struct QueueTimes {
  double begin = 0;        // it joined the running batch
  double first_token = 0;  // its first token was chosen
  double end = 0;
};

// The error of a request that waited longer than its queue allows (QueueOptions::max_queue_seconds).
class ATTEND_API WaitedTooLong : public Error {
 public:
  explicit WaitedTooLong(const std::string& message) : Error(message, ErrorKind::call) {}
};

struct QueueStatus {
  std::size_t running = 0, waiting = 0;                          // requests
  std::size_t waiting_tokens = 0;                                // of the prompts of those that wait
  std::int64_t pages_in_use = 0, peak_pages = 0, max_pages = 0;  // cache pages: now, peak, limit
  std::int64_t steps = 0, preemptions = 0;                       // totals since the start
  std::int64_t tokens_read = 0;  // total of tokens that a decoder has read, without those found in the cache
};

}  // namespace v1
}  // namespace attend
