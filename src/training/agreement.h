// What the processes of a run tell each other behind a step, so that all of them do the same next.
#pragma once

#include "parallel/ranks.h"
#include "training/batch_stream.h"

namespace attend {

struct Agreement {
  std::int64_t tokens = 0, padded = 0;  // that all have read; what they would be, were all texts as long
  bool stops = false;                   // one of them was asked to stop
  bool late = false;                    // the first one's time is over
  void add(const StepData& step);       // what this process has read
};
// What each of them says, as all shall see it.
Agreement agree(Ranks& ranks, const Agreement& own);

}  // namespace attend
