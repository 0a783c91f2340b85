#include "explain/faithfulness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace attend {
namespace {

constexpr std::array kShares = {0.01, 0.05, 0.1, 0.2, 0.5};  // DeYoung et al. 2020, section 4
constexpr std::size_t kSteps = 20;                           // of the curve
constexpr int kOrders = 5;                                   // random orders, for `chance`

using Order = std::vector<std::size_t>;  // indices of replaceable tokens, the most important first

Order first_of(const Order& order, std::size_t count) {
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
}
Order after(const Order& order, std::size_t count) {
  return {order.begin() + static_cast<std::ptrdiff_t>(count), order.end()};
}

Faithfulness follow(const AttributionTask& task, const Order& order) {
  const std::size_t n = order.size(), steps = std::min(n, kSteps);
  std::vector<Order> taken{{}};
  for (const double share : kShares) {
    const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(n)));
    taken.push_back(first_of(order, count));
    taken.push_back(after(order, count));
  }
  for (std::size_t step = 1; step <= steps; ++step) taken.push_back(first_of(order, n * step / steps));
  const Tensor scores = task.scores_without(taken);
  const Tensor certain = task.function.certainty(scores, task.asked).to(kDouble).contiguous();
  const double* value = certain.const_data<double>();
  Faithfulness result;
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    result.comprehensiveness += (value[0] - value[1 + 2 * i]) / kShares.size();
    result.sufficiency += (value[0] - value[2 + 2 * i]) / kShares.size();
  }
  result.curve.push_back({0, value[0]});
  for (std::size_t step = 1; step <= steps; ++step)
    result.curve.push_back({static_cast<std::int64_t>(n * step / steps), value[2 * kShares.size() + step]});
  return result;
}

}  // namespace

std::optional<Faithfulness> faithfulness(const AttributionTask& task, const TokenScores& scores) {
  if (task.replaceable.empty()) return {};
  std::vector<float> of;
  for (const auto& [side, token] : task.replaceable) of.push_back(scores[side][token].item<float>());
  Order order(of.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return of[a] > of[b]; });
  return follow(task, order);
}

std::optional<Faithfulness> faithfulness_of_chance(const AttributionTask& task) {
  if (task.replaceable.empty()) return {};
  std::mt19937 draw(1);
  Faithfulness mean;
  for (int turn = 0; turn < kOrders; ++turn) {
    Order order(task.replaceable.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw() % i]);
    const Faithfulness one = follow(task, order);
    mean.comprehensiveness += one.comprehensiveness / kOrders;
    mean.sufficiency += one.sufficiency / kOrders;
    mean.curve.resize(one.curve.size());
    for (std::size_t i = 0; i < one.curve.size(); ++i)
      mean.curve[i] = {one.curve[i].taken, mean.curve[i].certainty + one.curve[i].certainty / kOrders};
  }
  return mean;
}

}  // namespace attend
