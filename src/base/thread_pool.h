// Threads that last: a model's step is some hundred short pieces of parallel work, and a thread that has to
// be started, or even woken, for each of them costs more than the piece.
#pragma once

#include <cstdint>
#include <functional>

namespace attend {

// body(begin, end) for `pieces` ranges of [0, count), as many threads at once at most thread_count(). The
// first exception of any piece is rethrown when all have ended. A caller who finds the threads at work for
// another, and a piece that calls this itself, do all of it alone.
void run_on_pool(std::int64_t count, std::int64_t pieces,
                 const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace attend
