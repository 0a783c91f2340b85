// Training over a slow network: each process makes some local steps, then all synchronize (DiLoCo: Douillard
// et al. 2023, arXiv:2311.08105). The mean change of the weights is the gradient of an outer optimizer
// (Nesterov momentum), and all continue from its result. Changes are sent in half precision (OpenDiLoCo:
// arXiv:2407.07852).
#pragma once

#include "parallel/ranks.h"
#include "training/optimizers/optimizer.h"

namespace attend {

struct LocalStepOptions {
  std::int64_t steps = 0;  // local steps between synchronizations; 0: gradients are summed in every step
                           // instead
  double rate = 0.7, momentum = 0.9;
};

class OuterOptimizer {
 public:
  // All processes must have the same weights now. `parameters`: Optimizer::parameters(), in float32.
  OuterOptimizer(Ranks& ranks, std::span<const Parameter> parameters, const LocalStepOptions& options);

  // The outer step; afterwards all have the same weights.
  void step();
  // Every process continues with the mean of their optimizers' states, so that a checkpoint stores only one.
  void share_state(const std::map<std::string, Tensor>& state) const;

  // By "outer.<parameter name>", for checkpoints. restore: all processes use the first one's.
  std::map<std::string, Tensor> state() const;
  void restore(const std::map<std::string, Tensor>& state);

 private:
  struct Item {
    std::string name;
    Tensor weight, start, momentum;
  };
  Ranks& ranks_;
  std::vector<Item> items_;
  LocalStepOptions options_;
};

}  // namespace attend
