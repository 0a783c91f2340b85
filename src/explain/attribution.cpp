#include "explain/attribution.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace attend {
namespace {

// The gradients of the scores' sum with respect to x, and the scores [copies] themselves.
struct Differentiated {
  std::vector<Tensor> gradients;  // by side, [copies, n, d]
  Tensor scores;                  // [copies]
};

Differentiated differentiate(const AttributionTask& task, const std::vector<Tensor>& given) {
  const Recording gradients(true);
  std::vector<Tensor> x;
  for (const Tensor& side : given) x.push_back(side.detach().set_needs_gradient());
  Pass pass = task.pass();
  const Tensor scores = task.asked.of(task.function.scores(x, task.asked, pass));
  const auto found = ops::gradients({scores.sum()}, x, {}, {.may_be_unused = true});
  if (!found.front().defined() && !found.back().defined())
    fail("{}: its scores have no gradient in the tokens' vectors", task.function.model().architecture());
  Differentiated result{{}, scores.detach()};
  for (std::size_t s = 0; s < x.size(); ++s)
    result.gradients.push_back(found[s].defined() ? found[s] : ops::zeros_like(x[s]));
  return result;
}

}  // namespace

Pass AttributionTask::pass() const {
  Pass pass = Pass::inference();
  pass.bfloat16 = bfloat16;
  return pass;
}

Tensor AttributionTask::scores_without(const std::vector<std::vector<std::size_t>>& taken) const {
  const Unrecorded no_gradients;
  std::vector<Tensor> parts;
  in_parts(std::ssize(taken), function.copies_at_once(), [&](std::int64_t first, std::int64_t count) {
    std::vector<Tensor> x;
    for (const Tensor& side : function.inputs()) x.push_back(side.unsqueeze(0).repeat({count, 1, 1}));
    for (std::int64_t i = 0; i < count; ++i)
      for (const std::size_t number : taken[static_cast<std::size_t>(first + i)]) {
        const auto [side, token] = replaceable[number];
        x[side][i][token].copy_(baseline[side][token]);
      }
    Pass own = pass();
    parts.push_back(function.scores(x, asked, own));
  });
  return ops::cat(parts);
}

TokenScores gradient_times_input(const AttributionTask& task) {
  std::vector<Tensor> x;
  for (const Tensor& side : task.function.inputs()) x.push_back(side.unsqueeze(0));
  const Differentiated found = differentiate(task, x);
  TokenScores scores;
  for (std::size_t s = 0; s < x.size(); ++s) scores.push_back((found.gradients[s] * x[s])[0].sum(1));
  return scores;
}

std::vector<std::pair<double, double>> gauss_legendre(int points) {
  std::vector<std::pair<double, double>> rule;
  for (int i = 0; i < points; ++i) {
    // Finds a zero of the polynomial near a first estimate, by Newton's method.
    double x = std::cos(std::numbers::pi * (i + 0.75) / (points + 0.5)), slope = 1;
    for (int turn = 0; turn < 100; ++turn) {
      double value = 1, before = 0;
      for (int n = 1; n <= points; ++n)
        before = std::exchange(value, ((2.0 * n - 1) * x * value - (n - 1.0) * before) / n);
      slope = points * (x * value - before) / (x * x - 1);
      const double step = value / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    rule.emplace_back((1 - x) / 2, 1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

IntegratedGradients integrated_gradients(const AttributionTask& task, int steps) {
  const std::vector<Tensor>& inputs = task.function.inputs();
  const auto rule = gauss_legendre(steps);
  std::vector<Tensor> sums;  // by side, [n, d] float64
  for (const Tensor& side : inputs) sums.push_back(ops::zeros(side.sizes(), kDouble, side.device()));
  in_parts(steps, task.function.copies_at_once(), [&](std::int64_t first, std::int64_t count) {
    std::vector<double> at_place, weight;
    for (std::int64_t i = first; i < first + count; ++i) {
      at_place.push_back(rule[static_cast<std::size_t>(i)].first);
      weight.push_back(rule[static_cast<std::size_t>(i)].second);
    }
    const Tensor share = ops::tensor(at_place, kFloat).view({-1, 1, 1});
    const Tensor weights = ops::tensor(weight, kDouble).view({-1, 1, 1});
    std::vector<Tensor> x;
    for (std::size_t s = 0; s < inputs.size(); ++s)
      x.push_back(task.baseline[s] + share * (inputs[s] - task.baseline[s]));
    const Differentiated found = differentiate(task, x);
    for (std::size_t s = 0; s < inputs.size(); ++s)
      sums[s] += (found.gradients[s].to(kDouble) * weights).sum(0);
  });
  IntegratedGradients result;
  for (std::size_t s = 0; s < inputs.size(); ++s)
    result.scores.push_back((sums[s] * (inputs[s] - task.baseline[s])).sum(1).to(kFloat));
  std::vector<std::size_t> all(task.replaceable.size());
  std::iota(all.begin(), all.end(), 0);
  const Tensor ends = task.asked.of(task.scores_without({{}, all}));
  result.completeness.score = ends[0].item<double>();
  result.completeness.baseline = ends[1].item<double>();
  for (const Tensor& side : result.scores) result.completeness.sum += side.sum().item<double>();
  return result;
}

TokenScores occlusion(const AttributionTask& task) {
  std::vector<std::vector<std::size_t>> taken{{}};
  for (std::size_t i = 0; i < task.replaceable.size(); ++i) taken.push_back({i});
  const Tensor scores = task.asked.of(task.scores_without(taken));
  TokenScores result;
  for (const Tensor& side : task.function.inputs()) result.push_back(ops::zeros({side.size(0)}));
  for (std::size_t i = 0; i < task.replaceable.size(); ++i) {
    const auto [side, token] = task.replaceable[i];
    result[side][token] = scores[0] - scores[static_cast<std::int64_t>(i) + 1];
  }
  return result;
}

}  // namespace attend
