// The gradients of a step summed over all processes, in buckets. A bucket is sent as soon as its last
// gradient exists, while the backward pass continues with lower layers (Li et al. 2020, "PyTorch
// Distributed", arXiv:2006.15704).
//
// Buckets depend only on the parameters and are sent in the same order by all processes. So a repeated run
// adds in the same order and gives the same bits.
#pragma once

#include "parallel/ranks.h"
#include "tensor/leaf_listener.h"
#include "training/optimizers/optimizer.h"

#include <optional>
#include <unordered_map>

namespace attend {

class GradientSum {
 public:
  // `parameters`: Optimizer::parameters(), the same on all processes, in float32. Those of `layers` are left
  // out: they are summed layer by layer.
  GradientSum(Ranks& ranks, std::span<const Parameter> parameters, const ShardedLayers* layers = nullptr);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  Ranks& ranks() { return ranks_; }
  // Whether sums may begin during the backward pass: with divided layers the processes exchange those then.
  bool overlaps() const { return overlaps_; }
  // Call before the last backward pass of a step: from then on gradients are taken as soon as they are
  // complete.
  void begin();
  // Call after it: every parameter gets the sum of its gradients, or none if no process has one.
  void finish();

 private:
  struct Slot {
    Tensor weight, sum;  // `sum`: its gradient's place in the bucket
    bool taken = false;
  };
  struct Bucket {
    Tensor numbers;  // all gradients, then for each the number of processes that have it
    std::vector<Slot> slots;
    std::size_t missing = 0;
    std::unique_ptr<Ranks::Work> work;
  };
  void add_bucket(std::vector<Tensor> weights);
  void take(Bucket& bucket, std::size_t slot);
  void arrived(const void* leaf);
  void launch(Bucket& bucket);

  Ranks& ranks_;
  bool overlaps_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const void*, std::pair<std::size_t, std::size_t>> places_;  // by weight: bucket, slot
  std::size_t next_ = 0;                                                         // the bucket to send next
  std::optional<LeafListener> listener_;
};

}  // namespace attend
