// A pool of persistent threads. A model's step consists of some hundred short pieces of parallel work;
// starting or even waking a thread for each would cost more than the piece.
#pragma once

#include <attend/threads.h>

#include <cstddef>
#include <functional>

namespace attend {

// Has `follower` called with every number that set_thread_count is given, also with one it was given before:
// for a pool of threads that is not ours. Called while the library is loaded.
void follow_thread_count(void (*follower)(std::size_t));

// Calls body(begin, end) for pieces of [0, count) of at most `grain` items, on up to thread_count() threads.
// Rethrows the first exception of any piece after all threads have stopped. If the threads work for another
// call, or a piece calls this itself, the caller runs all pieces alone.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace attend
