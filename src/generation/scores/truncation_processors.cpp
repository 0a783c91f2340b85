#include "generation/scores/truncation_processors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {
namespace {

// The k-th largest score; the smallest if there are fewer.
float kth_largest(std::span<const float> scores, std::size_t k) {
  std::vector<float> sorted(scores.begin(), scores.end());
  const std::size_t place = std::min(k, sorted.size()) - 1;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(place), std::greater{});
  return sorted[place];
}

// Excludes probabilities below `least` unless the score is among the `keep` best; equal scores are treated
// equally.
void forbid_below(std::span<float> scores, std::span<const float> probabilities, float min,
                  std::size_t keep) {
  const float kept = kth_largest(scores, keep);
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (probabilities[i] < min && scores[i] < kept) scores[i] = kNever;
}

// Fan et al. 2018, arXiv:1805.04833. Tokens with the same score as the k-th all stay.
class TopK : public LogitsProcessor {
 public:
  explicit TopK(std::size_t k) : k_(k) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    if (k_ >= scores.size()) return;
    const float min = kth_largest(scores, k_);
    for (float& score : scores)
      if (score < min) score = kNever;
  }

 private:
  std::size_t k_;
};

// Nucleus sampling: Holtzman et al. 2019, arXiv:1904.09751.
class TopP : public LogitsProcessor {
 public:
  TopP(double p, std::size_t keep) : removed_(static_cast<float>(1 - p)), keep_(keep) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    std::vector<std::int32_t> order;  // of the remaining tokens, the least likely first
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (scores[i] != kNever) order.push_back(static_cast<std::int32_t>(i));
    if (order.empty()) return;
    std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return scores[i]; });
    const float largest = scores[order.back()];
    std::vector<float> probabilities;
    for (const std::int32_t i : order) probabilities.push_back(std::exp(scores[i] - largest));
    const auto sum = static_cast<float>(std::accumulate(probabilities.begin(), probabilities.end(), 0.0));
    double mass = 0;
    for (std::size_t i = 0; i + keep_ < order.size(); ++i) {
      mass += probabilities[i] / sum;
      if (static_cast<float>(mass) > removed_) break;
      scores[order[i]] = kNever;
    }
  }

 private:
  float removed_;
  std::size_t keep_;
};

// At least this share of the likeliest token's probability: Nguyen et al. 2024, arXiv:2407.01082.
class MinP : public LogitsProcessor {
 public:
  MinP(double p, std::size_t keep) : p_(static_cast<float>(p)), keep_(keep) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = tensor_of(scores), probabilities = ops::softmax(row, 0);
    const float min = p_ * probabilities.max().item<float>();
    const Tensor order = row.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
    const std::int64_t* places = order.const_data<std::int64_t>();
    const float* probability = probabilities.const_data<float>();
    for (std::size_t i = keep_; i < scores.size(); ++i)
      if (probability[places[i]] < min) scores[places[i]] = kNever;
  }

 private:
  float p_;
  std::size_t keep_;
};

// The tokens whose information is nearest to the expected one (Meister et al. 2022, arXiv:2202.00666), until
// their probabilities sum up to `mass`.
class TypicalP : public LogitsProcessor {
 public:
  TypicalP(double mass, std::size_t keep) : mass_(static_cast<float>(mass)), keep_(keep) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = tensor_of(scores), logs = ops::log_softmax(row, 0);
    const Tensor expected = (logs * logs.exp()).nansum(0).neg();  // excluded tokens give 0 times -inf
    const auto [distance, order] = (-logs - expected).abs().sort(/*stable=*/true, /*dim=*/0, false);
    const Tensor mass = ops::softmax(row.index_select(0, order), 0).cumsum(0);
    const std::span<const float> distances = row_scores(distance);
    const auto below = std::ranges::count_if(row_scores(mass), [&](float m) { return m < mass_; });
    const float furthest = distances[std::min(static_cast<std::size_t>(below), distances.size() - 1)];
    const std::int64_t* places = order.const_data<std::int64_t>();
    for (std::size_t i = keep_; i < scores.size(); ++i)
      if (distances[i] > furthest) scores[places[i]] = kNever;
  }

 private:
  float mass_;
  std::size_t keep_;
};

// Hewitt et al. 2022, arXiv:2210.15191, also for the next one.
class EpsilonCutoff : public LogitsProcessor {
 public:
  EpsilonCutoff(double epsilon, std::size_t keep) : epsilon_(static_cast<float>(epsilon)), keep_(keep) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor probabilities = ops::softmax(tensor_of(scores), 0);
    forbid_below(scores, row_scores(probabilities), epsilon_, keep_);
  }

 private:
  float epsilon_;
  std::size_t keep_;
};

// A lower cutoff for flat distributions.
class EtaCutoff : public LogitsProcessor {
 public:
  EtaCutoff(double epsilon, std::size_t keep) : epsilon_(static_cast<float>(epsilon)), keep_(keep) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = tensor_of(scores), probabilities = ops::softmax(row, 0);
    const Tensor logs = row - row.logsumexp(0);
    const Tensor finite = logs.clamp_min(std::numeric_limits<float>::lowest());
    const Tensor entropy = (finite * ops::softmax(logs, 0)).sum().neg();
    const float eta = std::min(epsilon_, std::sqrt(epsilon_) * entropy.neg().exp().item<float>());
    forbid_below(scores, row_scores(probabilities), eta, keep_);
  }

 private:
  float epsilon_;
  std::size_t keep_;
};

class Xtc : public LogitsProcessor {
 public:
  Xtc(double probability, double threshold)
      : probability_(probability), threshold_(static_cast<float>(threshold)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (context.chance >= probability_) return;
    const Tensor row = ops::softmax(tensor_of(scores), 0);
    const std::span<const float> probabilities = row_scores(row);
    std::vector<std::size_t> choices;
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (probabilities[i] >= threshold_) choices.push_back(i);
    if (choices.size() < 2) return;
    const auto stays = std::ranges::min_element(choices, {}, [&](std::size_t i) { return probabilities[i]; });
    for (const std::size_t i : choices)
      if (i != *stays) scores[i] = kNever;
  }

 private:
  double probability_;
  float threshold_;
};

}  // namespace

Processor top_k(std::size_t k, std::size_t keep) {
  return std::make_unique<TopK>(std::max(k, keep));
}

Processor top_p(double p, std::size_t keep) {
  return std::make_unique<TopP>(p, keep);
}

Processor min_p(double p, std::size_t keep) {
  return std::make_unique<MinP>(p, keep);
}

Processor typical_p(double mass, std::size_t keep) {
  return std::make_unique<TypicalP>(mass, keep);
}

Processor epsilon_cutoff(double epsilon, std::size_t keep) {
  return std::make_unique<EpsilonCutoff>(epsilon, keep);
}

Processor eta_cutoff(double epsilon, std::size_t keep) {
  return std::make_unique<EtaCutoff>(epsilon, keep);
}

Processor xtc(double probability, double threshold) {
  return std::make_unique<Xtc>(probability, threshold);
}

}  // namespace attend
