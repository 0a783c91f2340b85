// A model's figures on a data set.
#pragma once

#include "objectives/objective.h"

#include <functional>

namespace attend {

// Also called with the scores of each batch.
using ScoreListener = std::function<void(const Batch&, const Tensor& scores)>;

// Returns the loss, each of its terms if there are several, and the metrics of the objective. Needs memory
// for only one batch. Throws Error without any labels.
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener = {});

// The names of all of these.
std::vector<std::string> score_names(const Objective& objective);
// The default metric to select the best checkpoint.
std::string telling_score(const Objective& objective);

}  // namespace attend
