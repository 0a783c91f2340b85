#include "training/optimizers/gradient_sum.h"

#include "training/processes/sharded_layers.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::int64_t kBucketNumbers = 1 << 21;  // 8 MB

}  // namespace

GradientSum::GradientSum(Ranks& ranks, std::span<const Parameter> parameters, const ShardedLayers* layers)
    : ranks_(ranks), overlaps_(layers == nullptr) {
  std::vector<Tensor> weights;
  std::int64_t numbers = 0;
  // The backward pass reaches the last parameters first.
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const Parameter& p = parameters[i];
    if (p.weight.type() != kFloat) fail("{}: several processes train numbers of float32", p.name);
    if (layers != nullptr && layers->owner(p.weight)) continue;
    if (!weights.empty() && numbers + p.weight.numel() > kBucketNumbers) {
      add_bucket(std::exchange(weights, {}));
      numbers = 0;
    }
    weights.push_back(p.weight);
    numbers += p.weight.numel();
  }
  if (!weights.empty()) add_bucket(std::move(weights));
}

GradientSum::~GradientSum() {
  // If a process was lost, the engine may still write to this memory.
  if (std::ranges::any_of(buckets_, [](const Bucket& bucket) { return bucket.work != nullptr; }))
    static_cast<void>(new std::vector<Bucket>(std::move(buckets_)));
}

void GradientSum::add_bucket(std::vector<Tensor> weights) {
  Bucket bucket;
  std::int64_t numbers = 0;
  for (const Tensor& weight : weights) numbers += weight.numel();
  bucket.numbers = ops::zeros({numbers + static_cast<std::int64_t>(weights.size())});
  std::int64_t begin = 0;
  for (Tensor& weight : weights) {
    places_[weight.identity()] = {buckets_.size(), bucket.slots.size()};
    const Tensor sum = bucket.numbers.narrow(0, begin, weight.numel()).view(weight.sizes());
    begin += weight.numel();
    bucket.slots.push_back({std::move(weight), sum});
  }
  buckets_.push_back(std::move(bucket));
}

void GradientSum::begin() {
  next_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.slots.size();
    for (Slot& slot : bucket.slots) slot.taken = false;
  }
  listener_.emplace([this](const void* leaf) { arrived(leaf); });
}

// The gradient is copied into the bucket, and its own memory is freed.
void GradientSum::take(Bucket& bucket, std::size_t i) {
  const Unrecorded no_grad;
  Slot& slot = bucket.slots[i];
  slot.sum.copy_(slot.weight.gradient());
  slot.weight.mutable_gradient() = slot.sum;
  slot.taken = true;
  --bucket.missing;
}

void GradientSum::arrived(const void* leaf) {
  const auto place = places_.find(leaf);
  if (place == places_.end()) return;
  const auto [bucket, slot] = place->second;
  take(buckets_[bucket], slot);
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) launch(buckets_[next_++]);
}

void GradientSum::launch(Bucket& bucket) {
  const Unrecorded no_grad;
  const auto slots = static_cast<std::int64_t>(bucket.slots.size());
  float* const numbers = bucket.numbers.data<float>();
  float* const flags = numbers + bucket.numbers.numel() - slots;
  for (std::size_t i = 0; i < bucket.slots.size(); ++i) {
    const Slot& slot = bucket.slots[i];
    if (!slot.taken) slot.sum.zero_();
    flags[i] = slot.taken ? 1 : 0;
  }
  bucket.work = ranks_.begin_sum({numbers, static_cast<std::size_t>(bucket.numbers.numel())});
}

void GradientSum::finish() {
  if (!listener_) begin();  // this process's part has no label
  listener_.reset();
  for (Bucket& bucket : buckets_)  // gradients of earlier batches of the step
    for (std::size_t i = 0; i < bucket.slots.size(); ++i)
      if (!bucket.slots[i].taken && bucket.slots[i].weight.gradient().defined()) take(bucket, i);
  while (next_ < buckets_.size()) launch(buckets_[next_++]);
  for (Bucket& bucket : buckets_) {
    bucket.work->wait();
    bucket.work.reset();
    const float* const flags = bucket.numbers.const_data<float>() + bucket.numbers.numel() -
                               static_cast<std::int64_t>(bucket.slots.size());
    for (std::size_t i = 0; i < bucket.slots.size(); ++i) {
      Tensor& grad = bucket.slots[i].weight.mutable_gradient();
      if (flags[i] > 0)
        grad = bucket.slots[i].sum.on(bucket.slots[i].weight.device());
      else
        grad.reset();
    }
  }
}

}  // namespace attend
