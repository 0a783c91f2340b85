// Mixture of experts: several feed-forward layers; each token uses some of them (ExpertsSpec).
#pragma once

#include "nn/layers/feed_forward.h"

namespace attend {

// The sum of the chosen experts + residual, if that is defined, for x [T, d]. The matrices of all experts are
// stacked in one.
class ExpertsImpl : public Module {
 public:
  // `each`: the spec of one expert.
  ExpertsImpl(std::int64_t width, const FeedForwardSpec& each, const ExpertsSpec& spec);
  // Writes what a RouterLoss reads to `routing`, unless that is null.
  Tensor forward(const Tensor& x, const Tensor& residual, double dropout, Pass& pass, Tensor* routing);

 private:
  FeedForwardSpec each_;
  ExpertsSpec spec_;
  Linear router_{nullptr}, in_{nullptr}, out_{nullptr};
  FeedForward shared_{nullptr};
  Linear shared_gate_{nullptr};
};
ATTEND_MODULE(Experts);

// How unequally experts are chosen, over all layers: the number of experts times the sum over experts of (how
// often a token chooses it, on average) * (its mean probability). `routing`: each [T, experts].
Tensor router_loss(const std::vector<Tensor>& routing, std::int64_t chosen);

}  // namespace attend
