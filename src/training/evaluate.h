// A model's figures on a data set.
#pragma once

#include "objectives/objective.h"
#include "parallel/ranks.h"

#include <functional>

namespace attend {

// Also called with the scores of each batch.
using ScoreListener = std::function<void(const Batch&, const Tensor& scores)>;

// The loss, each of its terms where there are several, and what the objective's meter says. Needs no more
// memory than a batch. Error where there is no label at all. Several processes share the batches out, and all
// get the same figures as one would.
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener, Ranks& ranks);
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener = {});

// What the first process has measured, for all.
std::vector<Score> share_scores(const std::vector<Score>& scores, Ranks& ranks);

// The names of all of these.
std::vector<std::string> score_names(const Objective& objective);
// The default metric to select the best checkpoint.
std::string telling_score(const Objective& objective);

}  // namespace attend
