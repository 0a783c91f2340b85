// The meters of objectives: from scores of a batch to the metrics of metrics/.
#pragma once

#include "objectives/base/objective.h"

namespace attend {

// scores [n, labels] against batch.labels [n]; kIgnoredLabel is skipped. The primary metric is accuracy.
std::unique_ptr<Meter> single_label_meter(std::int64_t labels);
// scores [n, labels] above 0 against batch.labels [n, labels] above one half. The primary metric is micro F1.
std::unique_ptr<Meter> multi_label_meter(std::int64_t labels);
// scores [n, k] against batch.labels [n, k], all values together. The primary metric is Pearson's
// correlation.
std::unique_ptr<Meter> regression_meter();

// scores [T, tags] against batch.labels [T]; kIgnoredLabel is skipped. The primary metric is the F1 of
// entities if the tags describe entities, else accuracy.
std::unique_ptr<Meter> tag_meter(const std::vector<std::string>& tags);

// If the scores are the sum of the loss over the batch's labels: perplexity.
std::unique_ptr<Meter> perplexity_meter();

// The same, with the score of this name before all others.
std::vector<Score> beginning_with(std::string_view name, std::vector<Score> scores);
// The metrics as scores: higher is better except for errors.
std::vector<Score> to_scores(const std::vector<std::pair<std::string, double>>& figures);

}  // namespace attend
