#include "training/optimizer.h"

#include "kernels/kernels.h"
#include "nn/parallel.h"

#include <cmath>

namespace attend {

AdamOptimizer::AdamOptimizer(const std::vector<std::pair<std::string, Tensor>>& parameters,
                             const AdamOptions& options)
    : options_(options) {
  for (const auto& [name, weight] : parameters)
    if (weight.requires_grad())
      slots_.push_back({name, weight, at::zeros_like(weight), at::zeros_like(weight)});
}

double AdamOptimizer::step(double rate, double divisor) {
  at::NoGradGuard no_grad;
  double squares = 0;
  for (Slot& slot : slots_)
    if (slot.weight.grad().defined()) {
      const double norm = at::linalg_vector_norm(slot.weight.grad()).item<double>();
      squares += norm * norm;
    }
  const double norm = std::sqrt(squares) / divisor;
  if (!std::isfinite(norm))
    fail("the gradients of step {} are not finite; a smaller --rate or a longer --warmup helps", steps_ + 1);
  double scale = 1 / divisor;
  if (options_.clip > 0 && norm > options_.clip) scale *= options_.clip / norm;

  ++steps_;
  const double step = static_cast<double>(steps_);
  kernels::Adam adam;
  adam.rate = static_cast<float>(rate);
  adam.beta1 = static_cast<float>(options_.beta1);
  adam.beta2 = static_cast<float>(options_.beta2);
  adam.epsilon = static_cast<float>(options_.epsilon);
  adam.correction1 = static_cast<float>(1 - std::pow(options_.beta1, step));
  adam.correction2 = static_cast<float>(1 - std::pow(options_.beta2, step));
  adam.gradient_scale = static_cast<float>(scale);
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.weight.grad().defined() ? slot.weight.grad().contiguous() : Tensor();
    if (!gradient.defined()) continue;
    const double decay = slot.weight.dim() > 1 ? options_.weight_decay : 0;
    if (!on_kernels(slot.weight)) {
      const Tensor g = gradient * scale;
      slot.mean.lerp_(g, 1 - options_.beta1);
      slot.variance.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
      slot.weight.mul_(1 - rate * decay);
      slot.weight.addcdiv_(slot.mean,
                           (slot.variance.sqrt() / std::sqrt(adam.correction2)).add_(options_.epsilon),
                           -rate / adam.correction1);
    } else {
      adam.weight_decay = static_cast<float>(decay);
      parallel_ranges(slot.weight.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
        kernels::kernels().adam(adam, slot.weight.data_ptr<float>(), gradient.const_data_ptr<float>(),
                                slot.mean.data_ptr<float>(), slot.variance.data_ptr<float>(), begin, end);
      });
      // Written behind torch's back: packed copies of the weight must notice.
      slot.weight.unsafeGetTensorImpl()->bump_version();
    }
    slot.weight.mutable_grad().reset();
  }
  return norm;
}

std::map<std::string, Tensor> AdamOptimizer::state() const {
  std::map<std::string, Tensor> state;
  for (const Slot& slot : slots_) {
    state["mean." + slot.name] = slot.mean;
    state["variance." + slot.name] = slot.variance;
  }
  return state;
}

void AdamOptimizer::restore(const std::map<std::string, Tensor>& state, std::int64_t steps) {
  for (Slot& slot : slots_)
    for (auto [kind, tensor] : {std::pair{"mean.", &slot.mean}, {"variance.", &slot.variance}}) {
      const auto found = state.find(kind + slot.name);
      if (found == state.end() || found->second.sizes() != tensor->sizes())
        fail("the checkpoint's optimizer state does not fit the model: {}{}", kind, slot.name);
      tensor->copy_(found->second);
    }
  steps_ = steps;
}

}  // namespace attend
