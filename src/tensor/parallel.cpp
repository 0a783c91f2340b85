#include "tensor/parallel.h"

#include "base/parallel.h"

namespace attend {

void parallel_ranges(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  // As many pieces as threads, if they are worth it: a kernel is the faster the more it has at a time.
  const std::int64_t share = (count + parallel_threads() - 1) / parallel_threads();
  parallel_for(static_cast<std::size_t>(count),
               static_cast<std::size_t>(std::max(share, worth_a_thread(cost))),
               [&](std::size_t begin, std::size_t end) {
                 body(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
               });
}

int parallel_threads() {
  return static_cast<int>(thread_count());
}

}  // namespace attend
