#include "generation/scores/temperature_processors.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

class Temperature : public LogitsProcessor {
 public:
  explicit Temperature(double temperature)
      : temperature_(static_cast<float>(temperature)),
        limit_(temperature_ < 1 ? kLargest * temperature_ : 0) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    if (temperature_ < 1) check(scores);
    for (float& score : scores) score /= temperature_;
  }

 private:
  // Infinite scores after this would look like the model's fault.
  void check(std::span<const float> scores) const {
    bool too_large = false, finite = false, stays_finite = false;
    for (const float score : scores) {
      too_large |= score > limit_ && score <= kLargest;
      finite |= std::abs(score) <= kLargest;
      stays_finite |= std::abs(score) <= limit_;
    }
    if (too_large || (finite && !stays_finite))
      throw Error(fmt::format("temperature: {} is so small that the scores of tokens become infinite: set a "
                              "larger one, or do_sample to false for the likeliest token each time",
                              temperature_),
                  ErrorKind::call);
  }

  float temperature_;
  float limit_;  // larger scores become infinite
};

class DynamicTemperature : public LogitsProcessor {
 public:
  DynamicTemperature(double temperature, double range, double exponent)
      : min_(std::max(0.0, temperature - range)), max_(temperature + range), exponent_(exponent) {}

  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const float largest = *std::ranges::max_element(scores);
    double sum = 0, weighted = 0, possible = 0;
    for (const float score : scores) {
      if (score == kNever) continue;
      const double below = static_cast<double>(score) - largest, weight = std::exp(below);
      sum += weight;
      weighted += weight * below;
      ++possible;
    }
    if (possible < 2) return;
    const double entropy = std::log(sum) - weighted / sum;
    const double share = std::clamp(entropy / std::log(possible), 0.0, 1.0);
    const auto temperature = static_cast<float>(min_ + (max_ - min_) * std::pow(share, exponent_));
    if (!(temperature > 1e-30f)) return;  // one token is already certain
    for (float& score : scores) score /= temperature;
  }

 private:
  double min_, max_, exponent_;
};

class Renormalize : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = tensor_of(scores);
    row.copy_(ops::log_softmax(row, -1));
  }
};

}  // namespace

Processor temperature(double temperature) {
  return std::make_unique<Temperature>(temperature);
}

Processor dynamic_temperature(double temperature, double range, double exponent) {
  return std::make_unique<DynamicTemperature>(temperature, range, exponent);
}

Processor renormalize() {
  return std::make_unique<Renormalize>();
}

}  // namespace attend
