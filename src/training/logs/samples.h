// Sample outputs during training, for people to read: samples.jsonl and run.html.
#pragma once

#include "objectives/base/registry.h"
#include "training/logs/sample_log.h"

#include <functional>

namespace attend {

// For models that generate: greedy translations of the first held-out sources, or continuations of the first
// held-out lines. For others: labels, or masked tokens, of the first held-out examples (readings.h). Empty
// without held-out data. `held_out` must outlive the result.
std::function<std::vector<Sample>(Trainee&)> make_sampler(const Recipe& recipe, const ModelSpec& spec,
                                                          const TokenizerPair& tokenizers,
                                                          const Objective* held_out);

}  // namespace attend
