// How well a model translates the validation's texts, measured during training.
#pragma once

#include "objectives/base/objective.h"
#include "parallel/ranks.h"
#include "training/recipe.h"

#include <functional>

namespace attend {

// The metrics of greedy translations (or summaries) of the validation's sources. All arguments must outlive
// it.
std::function<std::vector<Score>(Trainee&)> greedy_translation(const Recipe& recipe,
                                                               const TokenizerPair& tokenizers, Ranks& ranks);

}  // namespace attend
