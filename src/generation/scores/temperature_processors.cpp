#include "generation/scores/temperature_processors.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

class Temperature : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(static_cast<float>(temperature)) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    for (float& score : scores) score /= temperature_;
  }

 private:
  float temperature_;
};

class DynamicTemperature : public LogitsProcessor {
 public:
  DynamicTemperature(double temperature, double range, double exponent)
      : least_(std::max(0.0, temperature - range)), most_(temperature + range), exponent_(exponent) {}

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
    const auto temperature = static_cast<float>(least_ + (most_ - least_) * std::pow(share, exponent_));
    if (!(temperature > 0)) return;  // one token is certain as it is
    for (float& score : scores) score /= temperature;
  }

 private:
  double least_, most_, exponent_;
};

class Renormalize : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = tensor_of(scores);
    row.copy_(at::log_softmax(row, -1));
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
