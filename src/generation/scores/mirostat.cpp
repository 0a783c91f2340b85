#include "generation/scores/mirostat.h"

#include "generation/scores/selection.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend {

void Mirostat::truncate(std::span<float> scores) const {
  if (target_.version == 0) return;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] != kNever) order.push_back(i);
  if (order.empty()) return;
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return scores[i]; });
  std::vector<double> probabilities;
  double sum = 0;
  for (const std::size_t i : order) {
    probabilities.push_back(std::exp(static_cast<double>(scores[i]) - scores[order.front()]));
    sum += probabilities.back();
  }
  for (double& p : probabilities) p /= sum;
  const std::size_t kept =
      target_.version == 1 ? first_version(probabilities, scores.size()) : second_version(probabilities);
  for (std::size_t i = std::max<std::size_t>(kept, 1); i < order.size(); ++i) scores[order[i]] = kNever;
}

// The paper's algorithm 1: the number of tokens that a Zipf distribution with the exponent of the likeliest
// tokens would need.
std::size_t Mirostat::first_version(std::span<const double> p, std::size_t vocabulary) const {
  constexpr std::size_t kLikeliest = 100;
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < std::min(kLikeliest, p.size()); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * std::log(p[i] / p[i + 1]);
    squares += t * t;
  }
  const double exponent = products / squares, over = exponent - 1;
  const double n = static_cast<double>(vocabulary);
  const double k = std::pow(over * std::exp2(max_surprise_) / (1 - std::pow(n, -over)), 1 / exponent);
  // NaN: all are equally likely, or there are too few to tell.
  return std::isnan(k) ? p.size() : static_cast<std::size_t>(std::clamp(k, 1.0, n));
}

// Algorithm 2: tokens with a surprise of at most mu.
std::size_t Mirostat::second_version(std::span<const double> p) const {
  const auto surprising =
      std::ranges::find_if(p, [&](double one) { return -std::log2(one) > max_surprise_; });
  return static_cast<std::size_t>(surprising - p.begin());
}

void Mirostat::learn(std::span<const float> scores, std::int64_t token) {
  if (target_.version == 0) return;
  const double surprise = -static_cast<double>(log_probability(scores, token)) / std::numbers::ln2;
  max_surprise_ -= target_.rate * (surprise - target_.surprise);
}

}  // namespace attend
