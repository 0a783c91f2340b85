// Feed-forward layers of which each token reads some (ExpertsSpec).
#pragma once

#include "nn/feed_forward.h"

namespace attend {

// The sum of the chosen experts + residual, if that is defined, for x [T, d]. The matrices of all experts
// stand one below the other in one.
class ExpertsImpl : public Module {
 public:
  // `each`: what an expert is.
  ExpertsImpl(std::int64_t width, const FeedForwardSpec& each, const ExpertsSpec& spec);
  // What a RouterLoss reads is put into `routing`, unless that is null.
  Tensor forward(const Tensor& x, const Tensor& residual, double dropout, Pass& pass, Tensor* routing);

 private:
  FeedForwardSpec each_;
  ExpertsSpec spec_;
  Linear router_{nullptr}, in_{nullptr}, out_{nullptr};
  FeedForward shared_{nullptr};
  Linear shared_gate_{nullptr};
};
ATTEND_MODULE(Experts);

// How unequally experts are chosen, of all layers together: the number of experts times the sum over experts
// of (how often a token chooses it, on average) * (its mean probability). `routing`: each [T, experts].
Tensor router_loss(const std::vector<Tensor>& routing, std::int64_t chosen);

}  // namespace attend
