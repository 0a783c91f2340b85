// Our threads, which last: a model's step is some hundred short pieces of parallel work, and a thread that
// has to be started, or even woken, for each of them costs more than the piece. What stands on torch's
// tensors computes with torch's threads instead, of which there are as many.
#pragma once

#include <attend/threads.h>

#include <cstddef>
#include <functional>

namespace attend {

// Has `follower` called with every number that set_thread_count is given, also with one it was given before:
// for a pool of threads that is not ours. Called while the library is loaded.
void follow_thread_count(void (*follower)(std::size_t));

// Calls body(begin, end) for pieces of [0, count) of at most `grain` items, on up to thread_count() threads.
// The first exception of any piece is rethrown here once all threads have stopped. A caller who finds the
// threads at work for another, and a piece that calls this itself, do all of it alone.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace attend
