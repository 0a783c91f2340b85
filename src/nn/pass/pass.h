// The parameters of a forward pass, besides its tensors.
#pragma once

#include "tensor/tensor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// Which of a model's adapters (nn/linear/adapters.h) each row of a pass uses.
struct AdapterChoice {
  std::optional<std::int64_t> only;  // this adapter for all rows of all tensors; -1: none
  // Else: one for each run of rows, in tensors with `rows` rows; none in other tensors.
  struct Run {
    std::int64_t adapter, first, count;
  };
  std::vector<Run> runs = {};
  std::int64_t rows = 0;

  // The adapter of a row of a tensor with `total` rows; -1: none.
  std::int64_t of(std::int64_t row, std::int64_t total) const {
    if (only) return *only;
    for (const Run& run : runs)
      if (total == rows && run.first <= row && row < run.first + run.count) return run.adapter;
    return -1;
  }
};

// How an attention computed its weights for one sequence, as numbers that can be added up again:
//   weights = softmax over the keys of (scale * query . key + the sum of `added` + penalty), minus the sinks'
//   part.
struct ScoreTerms {
  struct Term {
    std::string_view name;  // "key by distance" and the like
    Tensor scores;          // [heads, Lq, Lk]
  };
  // As they are multiplied: normalized, rotated and with all biases: [heads, Lq, D], [heads, Lk, D]. Heads
  // that share keys and values have a copy each.
  Tensor query, key, value;
  double scale = 1;
  std::vector<Term> added = {};
  Tensor penalty = {};  // [Lq, Lk]: 0, or the penalty that hides a key
  Tensor copies = {};   // [Lq, Lk]: how often a key counts (BigBird's blocks may repeat); undefined: once
  Tensor sinks = {};    // [heads]: one more score in each softmax (AttentionSpec::sinks); undefined: none
};

// What to capture in a pass, and the result. Attention weights are computed only if they are captured.
struct Capture {
  bool hidden_states = false, attentions = false;

  // Of one stack. hidden: the embeddings, then every layer's result; [T, d] each. attentions: per layer, per
  // sequence, [heads, Lq, Lk]. scores: how they were computed, per layer, per sequence.
  struct Stack {
    std::vector<Tensor> hidden;
    std::vector<std::vector<Tensor>> self_attentions, cross_attentions;
    std::vector<std::vector<ScoreTerms>> self_scores, cross_scores;
    std::vector<Tensor> routing;  // per layer with experts, what RouterLoss reads: [T, experts]
  };
  Stack encoder, decoder;

  bool scores = false;  // with `attentions`: also how they were computed
  // The layers whose attentions are kept; empty: all. Others have empty entries.
  std::vector<std::int64_t> layers = {};
  bool routing = false;

  bool keeps(std::int64_t layer) const {
    return layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
  }
};

// Where an attention stores captured tensors, sequence by sequence; null: nowhere.
struct AttentionCapture {
  std::vector<Tensor>* weights = nullptr;  // [heads, Lq, Lk], before dropout
  std::vector<ScoreTerms>* scores = nullptr;
};

class Pass {
 public:
  static Pass inference() { return {}; }
  // With dropout. Everything random in the pass depends only on `seed`, so a resumed run needs no random
  // state except its step number.
  static Pass training(std::uint64_t seed) {
    Pass pass;
    pass.training_ = true;
    pass.seed_ = seed;
    return pass;
  }

  bool is_training() const { return training_; }
  double rate(double dropout) const { return training_ ? dropout : 0; }
  std::uint64_t next_seed() { return seed_ + 0x9e3779b97f4a7c15u * ++draws_; }

  Capture* capture = nullptr;
  std::shared_ptr<const AdapterChoice> adapters = nullptr;  // null: all adapters of the model, for all rows
  // Gradient checkpointing: in training, layers keep only their inputs, and the backward pass computes them
  // again (nn/transformer/recompute.h). Memory for the inner states of one layer only, for a third more time.
  bool recompute = false;
  // Matrix products, also those of the gradients, round their factors to bfloat16 if the machine has
  // instructions for it; sums and everything else stay float32. Like torch's
  // set_float32_matmul_precision("medium").
  bool bfloat16 = false;
  // false: the pass stores nothing for gradients.
  bool gradients = true;

 private:
  bool training_ = false;
  std::uint64_t seed_ = 0, draws_ = 0;
};

// Replaces the choice of adapters while it exists.
class AdapterScope {
 public:
  AdapterScope(Pass& pass, std::shared_ptr<const AdapterChoice> adapters)
      : pass_(pass), before_(std::exchange(pass.adapters, std::move(adapters))) {}
  AdapterScope(const AdapterScope&) = delete;
  AdapterScope& operator=(const AdapterScope&) = delete;
  ~AdapterScope() { pass_.adapters = std::move(before_); }

 private:
  Pass& pass_;
  std::shared_ptr<const AdapterChoice> before_;
};

}  // namespace attend
