// AdamW (Kingma & Ba 2014, arXiv:1412.6980; Loshchilov & Hutter 2017, arXiv:1711.05101).
#pragma once

#include "nn/torch.h"

#include <map>

namespace attend {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;  // those of Vaswani et al. 2017
  double weight_decay = 0;                           // of matrices only: never of biases and norms
  double clip = 0;                                   // largest norm of all gradients together; 0: no limit
};

class AdamOptimizer {
 public:
  // Parameters that need no gradient are left alone.
  AdamOptimizer(const std::vector<std::pair<std::string, Tensor>>& parameters, const AdamOptions& options);

  // One step with the gradients divided by `divisor` (the labels they were summed over), then cleared.
  // Returns the norm of the gradients before clipping. Error if it is not finite: weights stay as they were.
  double step(double rate, double divisor);

  // The state by parameter name, for checkpoints: "mean.<name>", "variance.<name>".
  std::map<std::string, Tensor> state() const;
  void restore(const std::map<std::string, Tensor>& state, std::int64_t steps);
  std::int64_t steps() const { return steps_; }

 private:
  struct Slot {
    std::string name;
    Tensor weight, mean, variance;
  };
  std::vector<Slot> slots_;
  AdamOptions options_;
  std::int64_t steps_ = 0;
};

}  // namespace attend
