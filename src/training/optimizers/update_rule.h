// How one matrix or vector is updated by its gradient; parts that are stacked in one weight are updated one
// by one. A new optimizer is a file with its rule, a line here and one in optimizer.cpp.
#pragma once

#include "training/optimizers/optimizer.h"

namespace attend {

// State of a weight that a rule keeps between steps.
struct StateTensor {
  std::string kind;  // "mean"
  Tensor value;      // initially zeros
};

struct Update {
  Tensor weight;
  Tensor gradient;               // contiguous, before `scale`; read-only
  std::span<StateTensor> state;  // in the order of UpdateRule::fresh_state
  double rate;                   // the schedule's, times this weight's own factor
  double scale;                  // factor of all gradients
  double decay;                  // 0: none
  std::int64_t step;             // from 1

  Tensor scaled() const { return gradient * scale; }
  // Loops over float32 in memory serve; elsewhere torch's operations do.
  bool in_loops() const;
};

// Stateless, so that one object serves any number of parameters.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual std::vector<StateTensor> fresh_state(const Tensor& weight) const = 0;
  // Records no gradients. May change tensors without notifying the tape.
  virtual void apply(const Update& update) const = 0;
};

std::unique_ptr<UpdateRule> make_adamw(const OptimizerOptions& options);
std::unique_ptr<UpdateRule> make_adafactor(const OptimizerOptions& options);
std::unique_ptr<UpdateRule> make_sgd(const OptimizerOptions& options);
std::unique_ptr<UpdateRule> make_lion(const OptimizerOptions& options);
std::unique_ptr<UpdateRule> make_muon(const OptimizerOptions& options);  // for hidden matrices only

double root_mean_square(const Tensor& x);

// Throws Error "optimizer: <what>: expected ..., found ..." unless low <= value < high.
void check_range(const char* what, double value, double low, double high);

}  // namespace attend
