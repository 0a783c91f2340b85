// The meters of objectives: scores of a batch to the figures of metrics/.
#pragma once

#include "objectives/objective.h"

namespace attend {

// scores [n, labels] against batch.labels [n]; kIgnoredLabel does not count. accuracy first.
std::unique_ptr<Meter> single_label_meter(std::int64_t labels);
// scores [n, labels] above 0 against batch.labels [n, labels] above one half. micro F1 first.
std::unique_ptr<Meter> multi_label_meter(std::int64_t labels);
// scores [n, k] against batch.labels [n, k], all numbers together. Pearson's correlation first.
std::unique_ptr<Meter> regression_meter();

// scores [T, tags] against batch.labels [T]; kIgnoredLabel does not count. F1 of entities first where the
// tags are entities', else accuracy.
std::unique_ptr<Meter> tag_meter(const std::vector<std::string>& tags);

// Where the scores are the sum of the loss over the batch's labels: perplexity.
std::unique_ptr<Meter> perplexity_meter();

// The same, with the score of this name before all others.
std::vector<Score> beginning_with(std::string_view name, std::vector<Score> scores);
// The figures as scores: higher is better for all except errors.
std::vector<Score> to_scores(const std::vector<std::pair<std::string, double>>& figures);

}  // namespace attend
