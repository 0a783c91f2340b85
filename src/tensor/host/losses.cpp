#include "tensor/host/walk.h"

#include <fmt/ranges.h>

namespace attend::host {
namespace {

Tensor reduced(const Tensor& losses, std::int64_t reduction, double count) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Sum ? losses.sum() : losses.sum() / count;
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& scores, const Tensor& labels, const Tensor& weight,
                          std::int64_t reduction, std::int64_t ignored, double smoothing) {
  if (weight.defined()) fail("losses with weights are not there");
  Dimensions shape = scores.sizes();
  shape.erase(scores.wrapped(1));
  if (!(labels.sizes() == IntArrayRef(shape)))
    fail("labels of the shape [{}] for scores of [{}]", fmt::join(labels.sizes().vec(), ", "),
         fmt::join(scores.sizes().vec(), ", "));
  const Tensor logs = log_softmax(scores, 1), counted = labels.ne(ignored);
  const Tensor own = logs.gather(1, where(counted, labels, 0).unsqueeze(1)).squeeze(1).neg();
  // Without smoothing no other label's score counts, which may be -inf.
  const Tensor losses = smoothing == 0 ? own : own * (1 - smoothing) - logs.mean(1) * smoothing;
  return reduced(where(counted, losses, 0), reduction, counted.sum().to(kDouble).item<double>());
}

Tensor binary_cross_entropy_with_logits(const Tensor& scores, const Tensor& wanted, const Tensor& weight,
                                        const Tensor& positive, std::int64_t reduction) {
  if (weight.defined() || positive.defined()) fail("losses with weights are not there");
  const Tensor losses = scores.clamp_min(0) - scores * wanted + (scores.abs().neg().exp() + 1).log();
  return reduced(losses, reduction, static_cast<double>(scores.numel()));
}

Tensor mse_loss(const Tensor& a, const Tensor& b, std::int64_t reduction) {
  const Tensor losses = (a - b).square();
  return reduced(losses, reduction, static_cast<double>(losses.numel()));
}

}  // namespace attend::host
