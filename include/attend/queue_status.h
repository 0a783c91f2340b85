// How a request to a queue ends, and what a queue is at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend {

enum class QueueEnd { finished, cancelled, failed };

struct QueueStatus {
  std::size_t running = 0, waiting = 0;                          // requests
  std::int64_t pages_in_use = 0, most_pages = 0, max_pages = 0;  // of the cache: now, so far, ever
  std::int64_t steps = 0, preemptions = 0;                       // so far
};

}  // namespace attend
