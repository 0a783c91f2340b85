// A model's metrics on a data set.
#pragma once

#include "objectives/base/objective.h"
#include "parallel/ranks.h"

#include <functional>

namespace attend {

// Also called with the scores of each batch.
using ScoreListener = std::function<void(const Batch&, const Tensor& scores)>;

// The loss, each of its terms if there are several, and the scores of the objective's meter. Memory does not
// grow with the number of batches. Throws Error if there is no label at all. Several processes share the
// batches, and all get the same metrics as a single one.
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener, Ranks& ranks);
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener = {});

// Sends the metrics of the first process to all.
std::vector<Score> share_scores(const std::vector<Score>& scores, Ranks& ranks);

// The names of all of these.
std::vector<std::string> score_names(const Objective& objective);
// The default metric to select the best checkpoint.
std::string main_score(const Objective& objective);
// The one of this name; an Error that lists all if there is none.
const Score& find_score(const std::vector<Score>& scores, const std::string& name);

}  // namespace attend
