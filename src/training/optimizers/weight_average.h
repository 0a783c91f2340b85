// The exponential moving average of the weights (Polyak & Juditsky 1992; Tarvainen & Valpola 2017,
// arXiv:1703.01780), which is often better than the last weights and allows a high learning rate.
#pragma once

#include "training/optimizers/optimizer.h"

namespace attend {

class WeightAverage {
 public:
  // Starts from the current weights. Throws Error unless 0 <= decay < 1. `parameters`:
  // Optimizer::parameters().
  WeightAverage(std::span<const Parameter> parameters, double decay);

  // After a step: average = d average + (1 - d) weight with d = min(decay, 1 - 1/n) at the n-th call. Until 1
  // - 1/n reaches the decay, the average is the plain mean, without the initial weights.
  void update();

  // While it exists, the model has the averages: for a validation, or to save the result.
  class InModel {
   public:
    explicit InModel(WeightAverage& average) : average_(average) { average_.swap(); }
    ~InModel() { average_.swap(); }
    InModel(const InModel&) = delete;
    InModel& operator=(const InModel&) = delete;

   private:
    WeightAverage& average_;
  };

  // By "average.<parameter name>", for checkpoints.
  std::map<std::string, Tensor> state() const;
  // Throws Error and changes nothing if a tensor is missing, has another shape or type, or is not finite.
  void restore(const std::map<std::string, Tensor>& state, std::int64_t updates);
  // All processes get the first one's averages.
  void share(Ranks& ranks, std::int64_t updates);
  std::int64_t updates() const { return updates_; }

 private:
  void swap();

  struct Pair {
    std::string name;
    Tensor weight, average;
  };
  std::vector<Pair> pairs_;
  double decay_;
  std::int64_t updates_ = 0;
};

}  // namespace attend
