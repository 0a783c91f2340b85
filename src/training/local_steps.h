// Training over a slow network: each process goes some steps of its own, and then they meet (DiLoCo:
// Douillard et al. 2023, arXiv:2311.08105). How far all have gone, on average, is a gradient to an outer
// optimizer, momentum with Nesterov's look ahead; its step is where all go on. What is sent is in half
// precision (OpenDiLoCo: arXiv:2407.07852).
#pragma once

#include "parallel/ranks.h"
#include "training/optimizer.h"

namespace attend {

struct LocalStepOptions {
  std::int64_t steps = 0;  // between meetings; 0: gradients are added up in every step instead
  double rate = 0.7, momentum = 0.9;
};

class Meetings {
 public:
  // The weights are those of all now. `parameters`: Optimizer::parameters(), in float32.
  Meetings(Ranks& ranks, std::span<const Parameter> parameters, const LocalStepOptions& options);

  // The outer step; then all have the same weights.
  void meet();
  // Every process goes on with the mean of their optimizers' states, so that a checkpoint needs only one.
  void share_state(const std::map<std::string, Tensor>& state) const;

  // By "outer.<parameter name>", for checkpoints. restore: what the first process gives, on all.
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
