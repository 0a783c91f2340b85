#include "training/optimizers/weight_average.h"

#include "tensor/parallel.h"
#include "training/optimizers/named_state.h"
#include "training/processes/handing_out.h"

#include <algorithm>

namespace attend {

WeightAverage::WeightAverage(std::span<const Parameter> parameters, double decay) : decay_(decay) {
  if (!(decay >= 0 && decay < 1))
    fail("the average of weights: decay: expected a number from 0 to below 1, found {}", decay);
  for (const Parameter& p : parameters)
    if (p.weight.needs_gradient()) pairs_.push_back({p.name, p.weight, p.weight.detach().clone()});
}

void WeightAverage::update() {
  Unrecorded no_grad;
  ++updates_;
  const double kept = std::min(decay_, 1 - 1 / static_cast<double>(updates_));
  for (const Pair& pair : pairs_) pair.average.lerp_(pair.weight, 1 - kept);
}

void WeightAverage::swap() {
  Unrecorded no_grad;
  for (const Pair& pair : pairs_) {
    if (on_kernels(pair.weight) && pair.weight.is_contiguous()) {
      float *const weight = pair.weight.data<float>(), *const average = pair.average.data<float>();
      parallel_ranges(pair.weight.numel(), 2, [&](std::int64_t begin, std::int64_t end) {
        std::swap_ranges(weight + begin, weight + end, average + begin);
      });
      // Written through pointers: packed copies of the weight must be updated.
      pair.weight.bump_version();
    } else {
      const Tensor weight = pair.weight.detach().clone();
      pair.weight.copy_(pair.average);
      pair.average.copy_(weight);
    }
  }
}

std::map<std::string, Tensor> WeightAverage::state() const {
  std::map<std::string, Tensor> all;
  for (const Pair& pair : pairs_) all["average." + pair.name] = pair.average;
  return all;
}

void WeightAverage::restore(const std::map<std::string, Tensor>& state, std::int64_t updates) {
  restore_state(this->state(), state, "average of weights");
  updates_ = updates;
}

void WeightAverage::share(Ranks& ranks, std::int64_t updates) {
  std::vector<Tensor> averages;
  for (const Pair& pair : pairs_) averages.push_back(pair.average);
  hand_out(ranks, averages);
  updates_ = updates;
}

}  // namespace attend
