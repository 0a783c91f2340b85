// The gradients of a step added up over all processes, in buckets: each is on its way as soon as its last
// gradient is there, while the backward pass goes on below it (Li et al. 2020, "PyTorch Distributed",
// arXiv:2006.15704).
//
// Buckets follow from the parameters alone and begin in one order on all processes, so that a run that is
// repeated adds in the same order and gives the same bits.
#pragma once

#include "parallel/ranks.h"
#include "tensor/leaf_listener.h"
#include "training/optimizer.h"

#include <optional>
#include <unordered_map>

namespace attend {

class GradientSum {
 public:
  // `parameters`: Optimizer::parameters(), the same on all processes, in float32.
  GradientSum(Ranks& ranks, std::span<const Parameter> parameters);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  Ranks& ranks() { return ranks_; }
  // Before the last backward pass of a step: from now on gradients are taken as they are complete.
  void begin();
  // Behind it: every parameter has the sum of its gradients; none where no process has one.
  void finish();

 private:
  struct Slot {
    Tensor weight, sum;  // `sum`: where its gradient lies in the bucket
    bool taken = false;
  };
  struct Bucket {
    Tensor numbers;  // of all gradients, then for each of them how many processes have one
    std::vector<Slot> slots;
    std::size_t missing = 0;
    std::unique_ptr<Ranks::Sum> work;
  };
  void add_bucket(std::vector<Tensor> weights);
  void take(Bucket& bucket, std::size_t slot);
  void arrived(const void* leaf);
  void launch(Bucket& bucket);

  Ranks& ranks_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const void*, std::pair<std::size_t, std::size_t>> places_;  // of a weight: bucket, slot
  std::size_t next_ = 0;  // the bucket that begins next
  std::optional<LeafListener> listener_;
};

}  // namespace attend
