// From a classifier's scores to labels with scores, for texts and images.
#pragma once

#include <attend/tasks.h>

#include "models/checkpoint/pretrained_model.h"
#include "models/families/labels.h"

#include <span>

namespace attend {

// The meaning of ScoreFunction::by_model for this model.
ScoreFunction score_function(const PretrainedModel& model);
Tensor apply_function(ScoreFunction function, const Tensor& scores);  // over the last dimension

// The `top_k` labels with the highest scores (0: all), equal scores in the order of the labels.
std::vector<LabelScore> best_labels(std::span<const float> scores, const std::vector<std::string>& labels,
                                    std::size_t top_k);

}  // namespace attend
