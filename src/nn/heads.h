// What stands on a stack: scores over a vocabulary or over labels.
#pragma once

#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/ragged.h"

namespace attend {

class LanguageModelHeadImpl : public torch::nn::Module {
 public:
  // `tokens` [V, d]: the embedding matrix, which is the head's matrix too unless the spec says untied.
  LanguageModelHeadImpl(const LanguageModelHeadSpec& spec, const Tensor& tokens);
  Tensor forward(const Tensor& hidden);  // [T, d] -> [T, V]
  // The loss without ever holding all scores.
  LossSum loss(const Tensor& hidden, const Tensor& labels, double smoothing);
  void pack() { packed_.prepare(weight_); }

 private:
  Tensor transform(const Tensor& hidden);

  LanguageModelHeadSpec spec_;
  Linear dense_{nullptr};
  LayerNorm norm_{nullptr};
  Tensor weight_, bias_;
  PackedWeight packed_;
};
TORCH_MODULE(LanguageModelHead);

// tanh(W x + b) of each sequence's first token: [T, d] -> [B, d] (Devlin et al. 2018).
class PoolerImpl : public torch::nn::Module {
 public:
  explicit PoolerImpl(std::int64_t width);
  Tensor forward(const Tensor& hidden, const Offsets& offsets);

 private:
  Linear dense_{nullptr};
};
TORCH_MODULE(Pooler);

// The loss of a classification's scores [B, labels], by kind: mean squared error; cross-entropy against
// label numbers [B]; binary cross-entropy against 0/1 [B, labels].
Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem);

}  // namespace attend
