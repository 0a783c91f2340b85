// Runs texts through an encoder in groups; a text's result does not depend on the other texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attend {

struct ReadingGroups {
  std::vector<std::int64_t> begins;  // the first text of each group, and the number of texts
  // True: each thread reads its own groups. Then no thread waits for another before the end, whereas threads
  // that share a group would synchronize several hundred times; and what goes from layer to layer stays in a
  // core's own cache. False: all threads read one group after another.
  bool on_one_thread_each = false;

  std::int64_t count() const { return static_cast<std::int64_t>(begins.size()) - 1; }
};

// For texts of these lengths in tokens, in a stack of this width, on this number of threads. `apart`: threads
// can read independently.
ReadingGroups reading_groups(std::span<const std::int64_t> lengths, std::int64_t width, int threads,
                             bool apart);

}  // namespace attend
