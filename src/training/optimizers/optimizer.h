// Optimizers behind one interface: a list of parameters, each with its own update rule (update_rule.h).
//
// Clipping is separate: the loop asks for the gradient norm and passes the scale, which also divides by the
// number of labels, to the step.
#pragma once

#include "parallel/ranks.h"
#include "tensor/tensor.h"

#include <filesystem>
#include <map>
#include <optional>

namespace attend {

// One trained tensor.
struct Parameter {
  std::string name;  // unique: checkpoints store the state under it
  Tensor weight;
  double rate = 1;             // factor of the learning rate
  bool decays = true;          // weight decay applies to matrices, never to biases and norms
  bool hidden_matrix = false;  // [out, in] between hidden states (for Muon); not an embedding or head
  // Equal parts that are stacked in its rows, such as [3 w, d] of queries, keys and values. The optimizer
  // treats each as a separate weight, as in transformers (where only GPT-2's c_attn is a single one).
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
OptimizerKind parse_optimizer(const std::string& name);  // throws Error that lists the names

struct AdafactorOptions {         // defaults of transformers; relative_step is a schedule (schedule.h)
  double epsilon_square = 1e-30;  // added to squared gradients
  double clip_threshold = 1;      // largest root mean square of a step, before the rate
  double decay_rate = -0.8;       // the second moment of step t is mixed with 1 - t^decay_rate
  double beta1 = 0;               // of a mean of steps; 0: no mean
};

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t steps = 5;  // of the Newton-Schulz iteration
  // true: the rate is multiplied by 0.2 sqrt(max(out, in)), so that steps are as large as AdamW's and one
  // rate fits both (Liu et al. 2025, arXiv:2502.16982: "match_rms_adamw"). false: by sqrt(max(1, out / in))
  // ("original"), which needs rates about 50 times AdamW's.
  bool match_adamw = true;
};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9, beta2 = 0.98;  // for AdamW those of Vaswani et al. 2017; for Lion (paper: 0.9, 0.99)
  double epsilon = 1e-9;             // of AdamW
  // For parameters that decay. Decoupled from the gradient (multiplied by the rate) in all optimizers except
  // SGD, where it is added to the gradient before the momentum, as in torch.optim.SGD.
  double weight_decay = 0;
  // Multiplies the rate of each weight by the root mean square of its values, at least 1e-3 (Shazeer & Stern
  // 2018, section 8; transformers' scale_parameter). T5 was trained with it and needs it: its embeddings
  // start at 1, its queries at 0.01, and its scores are not scaled.
  bool rate_by_size = false;
  double momentum = 0;  // of SGD; without dampening
  bool nesterov = false;
  AdafactorOptions adafactor = {};
  MuonOptions muon = {};
};

class ShardedLayers;
class UpdateRule;
struct StateTensor;

// How several processes share one optimizer. All of them must call every function together, except steps()
// and parameters().
struct OptimizerRanks {
  Ranks& ranks;
  // Each process keeps the state of its own parameters, makes their steps and sends the weights to the others
  // (ZeRO-1: Rajbhandari et al. 2019, arXiv:1910.02054). The weights are the same to the last bit as without
  // sharding.
  bool sharded = false;
  const ShardedLayers* layers = nullptr;  // with these: their owners keep the weights as well
};

class Optimizer {
 public:
  // Parameters that need no gradient or are empty are left out. Throws Error if options are out of range, no
  // parameter is left, or two have the same name.
  Optimizer(const std::vector<Parameter>& parameters, const OptimizerOptions& options,
            std::optional<OptimizerRanks> ranks = {});
  ~Optimizer();

  // One step with all gradients multiplied by `gradient_scale`; then clears the gradients. Parameters without
  // a gradient do not change.
  void step(double rate, double gradient_scale);
  std::int64_t steps() const { return steps_; }
  // The trained parameters.
  std::span<const Parameter> parameters() const { return parameters_; }

  // The state as "<kind>.<parameter name>", for checkpoints: "mean.X", "variance.X"; of parts "mean.X.0"...
  // Sharded: the whole state on the first process, with that of others in unnamed files of `folder` rather
  // than in memory; only their own on the others.
  std::map<std::string, Tensor> state(const std::filesystem::path& folder = {}) const;
  // All processes get the first one's state. Throws Error and changes nothing if a tensor is missing, has
  // another shape or type, or is not finite.
  void restore(const std::map<std::string, Tensor>& state, std::int64_t steps);

 private:
  struct Slot {  // of the parameter with the same index
    const UpdateRule* rule;
    std::vector<std::vector<StateTensor>> states;  // of each part; empty if another process has them
  };
  void share_out_parameters();
  bool owns(std::size_t i) const { return owners_.empty() || owners_[i] == ranks_->ranks.rank(); }
  std::vector<std::vector<StateTensor>> fresh_states(std::size_t i) const;
  void name_states(std::map<std::string, Tensor>& to, std::size_t i,
                   const std::vector<std::vector<StateTensor>>& states) const;
  bool is_sharded(std::size_t i) const;  // no process but the owner has the weight
  void hand_out_weights(const std::vector<bool>& changed) const;
  std::vector<Parameter> parameters_;
  std::unique_ptr<UpdateRule> rule_, hidden_rule_;  // the second, if any, for hidden matrices
  std::vector<Slot> slots_;
  double weight_decay_;
  bool rate_by_size_;
  std::int64_t steps_ = 0;
  std::optional<OptimizerRanks> ranks_;
  std::vector<std::int64_t> owners_;  // the process of each parameter, if sharded
};

std::unique_ptr<Optimizer> make_optimizer(const std::vector<Parameter>& parameters,
                                          const OptimizerOptions& options,
                                          std::optional<OptimizerRanks> ranks = {});

// The norm of all gradients together, before scaling. `layers`: a gradient that another process keeps counts,
// too; all processes call it together.
struct GradientNorm {
  double norm = 0;
  std::string not_finite;  // the first parameter with NaN or infinity in its gradient; empty: none
};
GradientNorm gradient_norm(std::span<const Parameter> parameters, Ranks* ranks = nullptr,
                           const ShardedLayers* layers = nullptr);

}  // namespace attend
