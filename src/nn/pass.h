// What a forward pass carries besides its tensors.
#pragma once

#include "tensor/tensor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// Which of a model's adapters (nn/adapters.h) each row of a pass is computed with.
struct AdapterChoice {
  std::optional<std::int64_t> only;  // this one for all rows, whatever tensors they are of; -1: none
  // Else: one for each run of rows, of tensors of `rows` rows; for all others none.
  struct Run {
    std::int64_t adapter, first, count;
  };
  std::vector<Run> runs = {};
  std::int64_t rows = 0;

  // The adapter of a row of tensors of `total` rows; -1: none.
  std::int64_t of(std::int64_t row, std::int64_t total) const {
    if (only) return *only;
    for (const Run& run : runs)
      if (total == rows && run.first <= row && row < run.first + run.count) return run.adapter;
    return -1;
  }
};

// How an attention came to its weights for one sequence, in numbers that anybody can add up again:
//   weights = softmax over the keys of (scale * query . key + the sum of `added` + penalty), less what sinks
//   take.
struct FormedScores {
  struct Term {
    std::string_view name;  // "key by distance" and the like
    Tensor scores;          // [heads, Lq, Lk]
  };
  // As they are multiplied, that is normed, turned by their positions and with all biases: [heads, Lq, D],
  // [heads, Lk, D]. Heads that share keys and values have them each.
  Tensor query, key, value;
  double scale = 1;
  std::vector<Term> added = {};
  Tensor penalty = {};  // [Lq, Lk]: 0, or what hides a key
  Tensor copies =
      {};  // [Lq, Lk]: how often a key is counted (BigBird's blocks may meet again); undefined: once
  Tensor sinks = {};  // [heads]: a score more in each softmax (AttentionSpec::sinks); undefined: none
};

// What to keep of a pass, and what was kept. Attention weights are materialised only when asked for here.
struct Capture {
  bool hidden_states = false, attentions = false;

  // Of one stack. hidden: the embeddings, then every layer's result; [T, d] each. attentions: per layer, per
  // sequence, [heads, Lq, Lk]. scores: how they came about, per layer, per sequence.
  struct Stack {
    std::vector<Tensor> hidden;
    std::vector<std::vector<Tensor>> self_attentions, cross_attentions;
    std::vector<std::vector<FormedScores>> self_scores, cross_scores;
    std::vector<Tensor> routing;  // per layer with experts, what RouterLoss reads: [T, experts]
  };
  Stack encoder, decoder;

  bool scores = false;  // with `attentions`: how they came about as well
  // Of which layers attentions are kept; empty: of all. The others have empty places.
  std::vector<std::int64_t> layers = {};
  bool routing = false;

  bool keeps(std::int64_t layer) const {
    return layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
  }
};

// Where an attention puts what is kept of it, sequence by sequence; null: nowhere.
struct AttentionCapture {
  std::vector<Tensor>* weights = nullptr;  // [heads, Lq, Lk], before dropout
  std::vector<FormedScores>* scores = nullptr;
};

class Pass {
 public:
  static Pass inference() { return {}; }
  // Dropout is on. Everything random in the pass follows from `seed`: the same seed, the same result, so a
  // resumed run needs no random state but its step number.
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
  std::shared_ptr<const AdapterChoice> adapters = nullptr;  // null: all that the model has, for all rows
  // In training, layers keep nothing but what they are given, and the backward pass computes them again
  // (nn/recompute.h): memory for a layer's inner states only once, for a third more time.
  bool recompute = false;
  // Products of matrices round their factors to bfloat16 where the machine has instructions for that; sums
  // and everything else stay float32. So do those of the gradients. As torch's
  // set_float32_matmul_precision("medium").
  bool bfloat16 = false;
  // false: nothing is kept for gradients.
  bool gradients = true;

 private:
  bool training_ = false;
  std::uint64_t seed_ = 0, draws_ = 0;
};

// Another choice of adapters for as long as it lives.
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
