// Optimizers behind one interface: a list of parameters, each with its own update rule (update_rule.h).
//
// Clipping is separate: the loop asks for the gradient norm and passes the scale, which also divides by the
// number of labels, to the step.
#pragma once

#include "parallel/ranks.h"
#include "tensor/tensor.h"

#include <map>
#include <optional>

namespace attend {

// One tensor that is trained.
struct Parameter {
  std::string name;  // its own: checkpoints hold the state by it
  Tensor weight;
  double rate = 1;             // factor of the learning rate
  bool decays = true;          // weight decay is for matrices, never for biases and norms
  bool hidden_matrix = false;  // [out, in] between hidden states (for Muon); not an embedding or head
  // Equal parts that are stacked in its rows, as [3 w, d] of queries, keys and values: each is a weight of
  // its own to the optimizer, as to transformers (to which only GPT-2's c_attn is one).
  std::int64_t parts = 1;
  // Rows of the first part, if it differs from the others (more query heads than key heads); 0: the same.
  std::int64_t first_rows = 0;
};

enum class OptimizerKind {
  adamw,      // Kingma & Ba 2014, arXiv:1412.6980; Loshchilov & Hutter 2017, arXiv:1711.05101
  adafactor,  // Shazeer & Stern 2018, arXiv:1804.04235: second moments by row and column
  sgd,        // stochastic gradient descent, with momentum (Sutskever et al. 2013) as in torch
  lion,       // Chen et al. 2023, arXiv:2302.06675: the sign of a mean
  muon,       // Jordan et al. 2024: orthogonal steps for hidden matrices, AdamW for everything else
};
OptimizerKind parse_optimizer(const std::string& name);  // Error that lists the names

struct AdafactorOptions {         // defaults of transformers; relative_step is a schedule (schedule.h)
  double epsilon_square = 1e-30;  // added to squared gradients
  double clip_threshold = 1;      // largest root mean square of a step, before the rate
  double decay_rate = -0.8;       // the second moment of step t is mixed with 1 - t^decay_rate
  double beta1 = 0;               // of a mean of steps; 0: none is kept
};

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t steps = 5;  // of the Newton-Schulz iteration
  // The rate is times 0.2 sqrt(max(out, in)), so that a step is as large as one of AdamW and one rate serves
  // both (Liu et al. 2025, arXiv:2502.16982: "match_rms_adamw"); else times sqrt(max(1, out / in))
  // ("original"), for which rates are some 50 times AdamW's.
  bool match_adamw = true;
};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9, beta2 = 0.98;  // for AdamW those of Vaswani et al. 2017; for Lion (paper: 0.9, 0.99)
  double epsilon = 1e-9;             // of AdamW
  // For parameters that decay. Decoupled from the gradient (multiplied by the rate) in all optimizers except
  // SGD, where it is added to the gradient before the momentum, as in torch.optim.SGD.
  double weight_decay = 0;
  // Multiplies the rate of each weight by the root mean square of its numbers, at least 1e-3 (Shazeer & Stern
  // 2018, section 8; transformers' scale_parameter). T5 was trained with it and needs it: its embeddings
  // start at 1, its queries at a hundredth, and its scores are not divided by anything.
  bool rate_by_size = false;
  double momentum = 0;  // of SGD; without dampening
  bool nesterov = false;
  AdafactorOptions adafactor = {};
  MuonOptions muon = {};
};

class UpdateRule;
struct StateTensor;

// How several processes work on one optimizer. All of them call all functions but steps() and parameters()
// together.
struct OptimizerRanks {
  Ranks& ranks;
  // Each process keeps the state of its own parameters, makes their steps and hands out the weights (ZeRO-1:
  // Rajbhandari et al. 2019, arXiv:1910.02054). The same weights come out to the last bit.
  bool sharded = false;
};

class Optimizer {
 public:
  // Parameters that need no gradient or hold no numbers are left out. Error if options are out of range,
  // nothing is left to train or two parameters have one name.
  Optimizer(const std::vector<Parameter>& parameters, const OptimizerOptions& options,
            std::optional<OptimizerRanks> ranks = {});
  ~Optimizer();

  // One step with all gradients multiplied by `gradient_scale`; then clears the gradients. Parameters without
  // a gradient are left alone.
  void step(double rate, double gradient_scale);
  std::int64_t steps() const { return steps_; }
  // The trained parameters.
  std::span<const Parameter> parameters() const { return parameters_; }

  // The state as "<kind>.<parameter name>", for checkpoints: "mean.X", "variance.X"; of parts "mean.X.0"...
  // Sharded: the whole on the first process, on the others their own.
  std::map<std::string, Tensor> state() const;
  // What the first process gives, on all. Error, and nothing has changed, if a tensor is missing, of another
  // shape or type, or not finite.
  void restore(const std::map<std::string, Tensor>& state, std::int64_t steps);

 private:
  struct Slot {  // of the parameter of the same number
    const UpdateRule* rule;
    std::vector<std::vector<StateTensor>> states;  // of each part; empty where another process has them
  };
  void share_out_parameters();
  bool owns(std::size_t i) const { return owners_.empty() || owners_[i] == ranks_->ranks.rank(); }
  std::vector<std::vector<StateTensor>> fresh_states(std::size_t i) const;
  void name_states(std::map<std::string, Tensor>& to, std::size_t i,
                   const std::vector<std::vector<StateTensor>>& states) const;
  void hand_out_weights(const std::vector<bool>& changed) const;
  std::vector<Parameter> parameters_;
  std::unique_ptr<UpdateRule> rule_, hidden_rule_;  // the second, if any, for hidden matrices
  std::vector<Slot> slots_;
  double weight_decay_;
  bool rate_by_size_;
  std::int64_t steps_ = 0;
  std::optional<OptimizerRanks> ranks_;
  std::vector<std::int64_t> owners_;  // of each parameter, where they are sharded
};

std::unique_ptr<Optimizer> make_optimizer(const std::vector<Parameter>& parameters,
                                          const OptimizerOptions& options,
                                          std::optional<OptimizerRanks> ranks = {});

// The norm of all gradients together, before any scale.
struct GradientNorm {
  double norm = 0;
  std::string not_finite;  // the first parameter with NaN or infinity in its gradient; empty: none
};
GradientNorm gradient_norm(std::span<const Parameter> parameters);

}  // namespace attend
