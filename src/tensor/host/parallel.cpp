#include "tensor/parallel.h"

#include "base/parallel.h"
#include "base/thread_pool.h"

namespace attend {

void parallel_ranges(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t most = (count + worth_a_thread(cost) - 1) / worth_a_thread(cost);
  run_on_pool(count, std::min<std::int64_t>(most, parallel_threads()), body);
}

int parallel_threads() {
  return static_cast<int>(thread_count());
}

}  // namespace attend
