#include "tasks/spans.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// Softmax over the allowed tokens; the others get 0.
std::vector<float> probabilities(std::span<const float> scores, const std::vector<bool>& allowed) {
  float largest = -10000;  // transformers' value for scores that are not allowed
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (allowed[i]) largest = std::max(largest, scores[i]);
  std::vector<float> chances(scores.size(), 0);
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (allowed[i]) sum += chances[i] = std::exp(scores[i] - largest);
  for (float& chance : chances) chance = sum == 0 ? 0 : static_cast<float>(chance / sum);
  return chances;
}

}  // namespace

SpanScores best_spans(std::span<const float> start, std::span<const float> end,
                      const std::vector<bool>& allowed, std::size_t count, std::size_t longest) {
  std::vector<float> starts = probabilities(start, allowed), ends = probabilities(end, allowed);
  SpanScores result;
  if (starts.empty()) return result;
  result.none = starts[0] * ends[0];
  starts[0] = ends[0] = 0;
  for (std::size_t s = 0; s < starts.size(); ++s)
    for (std::size_t e = s; e < std::min(s + longest, ends.size()); ++e)
      if (const float score = starts[s] * ends[e]; score > 0) result.spans.push_back({s, e, score});
  const std::size_t kept = std::min(count, result.spans.size());
  std::ranges::partial_sort(result.spans, result.spans.begin() + static_cast<std::ptrdiff_t>(kept),
                            std::ranges::greater(), &AnswerSpan::score);
  result.spans.resize(kept);
  return result;
}

}  // namespace attend
