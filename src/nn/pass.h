// What a forward pass carries besides its tensors.
#pragma once

#include "nn/torch.h"

#include <memory>
#include <optional>

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
};

// What to keep of a pass, and what was kept. Attention weights are materialised only when asked for here.
struct Capture {
  bool hidden_states = false, attentions = false;

  // Of one stack. hidden: the embeddings, then every layer's result; [T, d] each. attentions: per layer, per
  // sequence, [heads, Lq, Lk].
  struct Stack {
    std::vector<Tensor> hidden;
    std::vector<std::vector<Tensor>> self_attentions, cross_attentions;
  };
  Stack encoder, decoder;
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

}  // namespace attend
