// How a request to a queue ends, and what a queue is at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend {

enum class QueueEnd { finished, cancelled, failed };

// When things happened to a request, in seconds after its submission; 0 for what has not happened.
struct QueueTimes {
  double begin = 0;        // it joined those that run
  double first_token = 0;  // its first token was chosen
  double end = 0;
};

struct QueueStatus {
  std::size_t running = 0, waiting = 0;                          // requests
  std::int64_t pages_in_use = 0, most_pages = 0, max_pages = 0;  // of the cache: now, so far, ever
  std::int64_t steps = 0, preemptions = 0;                       // so far
};

}  // namespace attend
