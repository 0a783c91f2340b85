// How many threads the library works on.
#pragma once

#include <cstddef>

namespace attend {

// 0, as it begins: one per core that the process may use (also by a container's limit). Set once, before
// anything else. A call that finds the threads at work for another does its work alone.
void set_thread_count(std::size_t count);
std::size_t thread_count();

}  // namespace attend
