// Whether the tokens that a method finds important are important to the model (DeYoung et al. 2020, ERASER).
#pragma once

#include "explain/attribution.h"

namespace attend {

// Removes tokens in the order of their scores, highest first. Absent if no token can be removed.
std::optional<Faithfulness> faithfulness(const AttributionTask& task, const TokenScores& scores);
// The mean over some random orders, the same each time.
std::optional<Faithfulness> faithfulness_of_chance(const AttributionTask& task);

}  // namespace attend
