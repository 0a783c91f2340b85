// How many threads the library works on.
#pragma once

#include <attend/export.h>

#include <cstddef>

namespace attend {

// 0, as it begins: one per core that the process may use (also by a container's limit). Set once, before
// anything else. A call that finds the threads at work for another does its work alone.
ATTEND_API void set_thread_count(std::size_t count);
ATTEND_API std::size_t thread_count();

}  // namespace attend
