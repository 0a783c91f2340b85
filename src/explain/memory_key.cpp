#include "explain/memory_key.h"

#include <limits>

namespace attend {

void fold_memory(ExplainedAttention::Layer& layer, std::int64_t count) {
  if (count == 0) return;
  ScoreTerms& formed = layer.scores;
  const auto rest = [&](const Tensor& t, std::int64_t dim) {
    return t.narrow(dim, count, t.size(dim) - count);
  };
  layer.weights = ops::cat({layer.weights.narrow(2, 0, count).sum(2, true), rest(layer.weights, 2)}, 2);
  if (!formed.query.defined()) return;
  Tensor scores = ops::matmul(formed.query, formed.key.narrow(1, 0, count).transpose(1, 2)) * formed.scale;
  for (const auto& term : formed.added) scores = scores + term.scores.narrow(2, 0, count);
  scores = scores + formed.penalty.narrow(1, 0, count);  // [heads, Lq, count]
  const Tensor folded = ops::logsumexp(scores, {2}, true).clamp_min(std::numeric_limits<float>::lowest());
  const auto with_zero = [&](const Tensor& t) { return ops::with_margins(rest(t, t.dim() - 1), {1, 0}); };
  for (auto& term : formed.added) term.scores = with_zero(term.scores);
  Tensor memory = ops::zeros_like(layer.weights);
  memory.narrow(2, 0, 1).copy_(folded);
  formed.added.push_back({"memory", memory});
  formed.penalty = with_zero(formed.penalty);
  formed.key = ops::with_margins(rest(formed.key, 1), {0, 0, 1, 0});
  formed.value = ops::cat({formed.value.narrow(1, 0, 1), rest(formed.value, 1)}, 1);
}

}  // namespace attend
