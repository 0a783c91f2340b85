// Threads for the torch-free parts. (What stands on torch uses at::parallel_for: never both at once.)
#pragma once

#include <cstddef>
#include <functional>

namespace attend {

// How many threads parallel work uses; 0 asks for one per core. Set once, at start (--threads).
void set_thread_count(std::size_t count);
std::size_t thread_count();

// Calls body(begin, end) for pieces of [0, count) of at most `grain` items, on up to thread_count() threads.
// The first exception of any piece is rethrown here once all threads have stopped.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace attend
