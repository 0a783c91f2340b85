// Runs texts that are only encoded in groups; a text's result does not depend on its neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attend {

struct ReadingGroups {
  std::vector<std::int64_t> begins;  // the first text of each group, and the number of texts
  // True: each thread reads groups of its own. Then none waits for another before the end, where threads that
  // share one group would meet some hundred times; and what goes from layer to layer stays in a core's own
  // cache. False: one group after another, each by all threads.
  bool on_one_thread_each = false;

  std::int64_t count() const { return static_cast<std::int64_t>(begins.size()) - 1; }
};

// For texts of these lengths in tokens, in a stack of this width, by so many threads. `apart`: threads can
// read on their own.
ReadingGroups reading_groups(std::span<const std::int64_t> lengths, std::int64_t width, int threads,
                             bool apart);

}  // namespace attend
