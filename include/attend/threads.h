// The number of threads that the library uses.
#pragma once

#include <attend/export.h>

#include <cstddef>

namespace attend {
inline namespace v1 {

// 0 (the default): one per core that the process may use, within a container's CPU limit. Call it once,
// before anything else. While another call uses the threads, a call runs on its own thread alone.
ATTEND_API void set_thread_count(std::size_t count);
ATTEND_API std::size_t thread_count();

}  // namespace v1
}  // namespace attend
