#include "tensor/tape.h"
#include "tensor/walk.h"

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

Tensor reduced(const Tensor& losses, std::int64_t reduction, const Tensor& count) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Sum ? losses.sum() : losses.sum() / count;
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& scores, const Tensor& labels, const Tensor& weight,
                          std::int64_t reduction, std::int64_t ignored, double smoothing) {
  Dimensions shape = scores.sizes();
  shape.erase(scores.wrapped(1));
  if (!(labels.sizes() == Dimensions(shape)))
    fail("labels of shape [{}] do not fit scores of [{}]", fmt::join(labels.sizes().vec(), ", "),
         fmt::join(scores.sizes().vec(), ", "));
  const Tensor logs = log_softmax(scores, 1), counted = labels.ne(ignored);
  const Tensor places = where(counted, labels, 0);
  Tensor own = logs.gather(1, places.unsqueeze(1)).squeeze(1).neg(), share;  // of each label
  if (weight.defined()) {
    share = where(counted, weight.index_select(0, places.flatten()).view(places.sizes()), 0);
    own = own * share;
  }
  // Without smoothing the scores of other labels must not count: they may be -inf.
  Tensor losses = own;
  if (smoothing != 0) {
    Tensor all = logs;
    if (weight.defined()) {
      Dimensions along;
      for (std::int64_t d = 0; d < scores.dim(); ++d) along.push_back(d == 1 ? weight.numel() : 1);
      all = logs * weight.view(along);
    }
    losses = own * (1 - smoothing) - all.mean(1) * smoothing;
  }
  const Tensor count = weight.defined() ? share.sum() : counted.sum().to(scores.type());
  return reduced(where(counted, losses, 0), reduction, count);
}

Tensor binary_cross_entropy_with_logits(const Tensor& scores, const Tensor& wanted, const Tensor& weight,
                                        const Tensor& positive, std::int64_t reduction) {
  // max(-x, 0) + log(1 + exp(-|x|)); at 0 the slope is that of the logistic function.
  const Tensor softplus = logaddexp(scores.neg(), zeros_like(scores));
  Tensor losses = positive.defined() ? (1 - wanted) * scores + ((positive - 1) * wanted + 1) * softplus
                                     : scores - scores * wanted + softplus;
  if (weight.defined()) losses = losses * weight;
  return reduced(losses, reduction, scalar_tensor(losses.numel(), scores.type()));
}

Tensor mse_loss(const Tensor& a, const Tensor& b, std::int64_t reduction) {
  const Tensor losses = (a - b).square();
  return reduced(losses, reduction, scalar_tensor(losses.numel(), losses.type()));
}

}  // namespace attend::ops
