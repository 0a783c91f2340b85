// What the processes of a run tell each other after a step, so that all of them act the same.
#pragma once

#include "parallel/ranks.h"
#include "training/batch_stream.h"

namespace attend {

struct Agreement {
  std::int64_t tokens = 0, padded = 0;  // tokens that all processes have read; their number if all texts were
                                        // padded to the longest
  bool stops = false;                   // a process was asked to stop
  bool late = false;                    // the first process has reached the time limit
  void add(const StepData& step);       // adds what this process has read
};
// Combines the values of all processes; all get the same result.
Agreement agree(Ranks& ranks, const Agreement& own);

}  // namespace attend
