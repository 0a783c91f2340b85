// Threads for the torch-free parts. What stands on torch uses torch's, of which there are as many: never both
// at once.
#pragma once

#include <cstddef>
#include <functional>

namespace attend {

// How many threads parallel work uses; 0 asks for one per core. Set once, at start (--threads).
void set_thread_count(std::size_t count);
std::size_t thread_count();
// Has `follower` called with every number that set_thread_count is given, also with one it was given before:
// for a pool of threads that is not ours. Called while the library is loaded.
void follow_thread_count(void (*follower)(std::size_t));

// Calls body(begin, end) for pieces of [0, count) of at most `grain` items, on up to thread_count() threads.
// The first exception of any piece is rethrown here once all threads have stopped.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace attend
