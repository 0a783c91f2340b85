// Layers whose weights are in memory only while they compute, because other processes keep them
// (training/processes/sharded_layers.h).
#pragma once

#include "tensor/module.h"
#include "tensor/tensor.h"

#include <span>

namespace attend {

// A weight that is not in memory is NaN, of its usual shape.
class LayerWeights {
 public:
  virtual ~LayerWeights() = default;
  // Brings these parameters of one layer into memory.
  virtual void fetch(std::span<const Tensor> parameters) = 0;
  // Frees them again, if another process keeps them. Sends nothing.
  virtual void release(std::span<const Tensor> parameters) = 0;
  // After a backward pass over a layer: adds the sums of these over all processes to the gradients of the
  // parameters that this process keeps. Clears those that it has summed.
  virtual void sum(std::span<const Tensor> parameters, std::span<Tensor> gradients) = 0;
};

// The parameters are in memory while this exists. `weights` null: they always are.
class InMemory {
 public:
  InMemory(LayerWeights* weights, std::span<const Tensor> parameters)
      : weights_(weights), parameters_(parameters) {
    if (weights_ != nullptr) weights_->fetch(parameters_);
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  ~InMemory() {
    if (weights_ != nullptr) weights_->release(parameters_);
  }

 private:
  LayerWeights* weights_;
  std::span<const Tensor> parameters_;
};

}  // namespace attend
