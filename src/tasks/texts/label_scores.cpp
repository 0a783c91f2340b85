#include "tasks/texts/label_scores.h"

#include <algorithm>

namespace attend {

ScoreFunction score_function(const PretrainedModel& model) {
  const ScoreHeadSpec& head = model.network()->score_head->spec();
  if (head.problem == ProblemType::regression) return ScoreFunction::none;
  return head.problem == ProblemType::multi_label || head.labels == 1 ? ScoreFunction::sigmoid
                                                                      : ScoreFunction::softmax;
}

Tensor apply_function(ScoreFunction function, const Tensor& scores) {
  if (function == ScoreFunction::softmax) return ops::softmax(scores, -1);
  return function == ScoreFunction::sigmoid ? ops::sigmoid(scores) : scores;
}

std::vector<LabelScore> best_labels(std::span<const float> scores, const std::vector<std::string>& labels,
                                    std::size_t top_k) {
  std::vector<LabelScore> all;
  for (std::size_t i = 0; i < scores.size(); ++i) all.push_back({labels.at(i), scores[i]});
  std::ranges::stable_sort(all, std::ranges::greater(), &LabelScore::score);
  if (top_k > 0 && top_k < all.size()) all.resize(top_k);
  return all;
}

}  // namespace attend
