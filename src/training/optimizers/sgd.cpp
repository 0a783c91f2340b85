// Stochastic gradient descent with momentum and Nesterov's variant (Sutskever et al. 2013), as
// torch.optim.SGD: weight decay is part of the gradient, and the mean of gradients m = momentum * m + g is
// not divided.
#include "tensor/parallel.h"
#include "training/optimizers/update_rule.h"

namespace attend {
namespace {

class Sgd : public UpdateRule {
 public:
  explicit Sgd(const OptimizerOptions& options) : momentum_(options.momentum), nesterov_(options.nesterov) {
    check_range("momentum", momentum_, 0, 1);
    if (nesterov_ && momentum_ == 0) fail("optimizer sgd: Nesterov's variant needs a momentum above 0");
  }

  std::vector<StateTensor> fresh_state(const Tensor& weight) const override {
    if (momentum_ == 0) return {};
    return {{"momentum", ops::zeros_like(weight)}};
  }

  void apply(const Update& u) const override {
    if (u.in_loops())
      apply_in_loops(u);
    else
      apply_plainly(u);
  }

 private:
  void apply_in_loops(const Update& u) const {
    const auto rate = static_cast<float>(u.rate), scale = static_cast<float>(u.scale),
               decay = static_cast<float>(u.decay), momentum = static_cast<float>(momentum_);
    float* const weight = u.weight.data<float>();
    const float* const gradient = u.gradient.const_data<float>();
    float* const mean = momentum_ > 0 ? u.state[0].value.data<float>() : nullptr;
    parallel_ranges(u.weight.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float g = gradient[i] * scale + decay * weight[i];
        if (mean) {
          mean[i] = momentum * mean[i] + g;
          g = nesterov_ ? g + momentum * mean[i] : mean[i];
        }
        weight[i] -= rate * g;
      }
    });
  }

  void apply_plainly(const Update& u) const {
    Tensor g = u.scaled().add_(u.weight, u.decay);
    if (momentum_ > 0) {
      const Tensor& mean = u.state[0].value;
      mean.mul_(momentum_).add_(g);
      g = nesterov_ ? g.add_(mean, momentum_) : mean;
    }
    u.weight.add_(g, -u.rate);
  }

  double momentum_;
  bool nesterov_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_sgd(const OptimizerOptions& options) {
  return std::make_unique<Sgd>(options);
}

}  // namespace attend
