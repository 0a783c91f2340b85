// AdamW: Adam (Kingma & Ba 2014, arXiv:1412.6980) with decoupled weight decay (Loshchilov & Hutter 2017,
// arXiv:1711.05101).
#include "kernels/kernels.h"
#include "tensor/parallel.h"
#include "training/optimizers/update_rule.h"

#include <cmath>
#include <limits>

namespace attend {
namespace {

class AdamW : public UpdateRule {
 public:
  explicit AdamW(const OptimizerOptions& options) : options_(options) {
    check_range("beta1", options.beta1, 0, 1);
    check_range("beta2", options.beta2, 0, 1);
    check_range("epsilon", options.epsilon, 0, std::numeric_limits<double>::infinity());
  }

  std::vector<StateTensor> fresh_state(const Tensor& weight) const override {
    return {{"mean", ops::zeros_like(weight)}, {"variance", ops::zeros_like(weight)}};
  }

  void apply(const Update& u) const override {
    const double step = static_cast<double>(u.step);
    kernels::Adam adam;
    adam.rate = static_cast<float>(u.rate);
    adam.beta1 = static_cast<float>(options_.beta1);
    adam.beta2 = static_cast<float>(options_.beta2);
    adam.epsilon = static_cast<float>(options_.epsilon);
    adam.weight_decay = static_cast<float>(u.decay);
    adam.correction1 = static_cast<float>(1 - std::pow(options_.beta1, step));
    adam.correction2 = static_cast<float>(1 - std::pow(options_.beta2, step));
    adam.gradient_scale = static_cast<float>(u.scale);
    const Tensor &weight = u.weight, &mean = u.state[0].value, &variance = u.state[1].value;
    if (u.in_loops()) {
      parallel_ranges(weight.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
        kernels::kernels().adam(adam, weight.data<float>(), u.gradient.const_data<float>(),
                                mean.data<float>(), variance.data<float>(), begin, end);
      });
      return;
    }
    const Tensor g = u.scaled();
    mean.lerp_(g, 1 - options_.beta1);
    variance.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
    weight.mul_(1 - u.rate * u.decay);
    weight.addcdiv_(mean, (variance.sqrt() / std::sqrt(adam.correction2)).add_(options_.epsilon),
                    -u.rate / adam.correction1);
  }

 private:
  OptimizerOptions options_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adamw(const OptimizerOptions& options) {
  return std::make_unique<AdamW>(options);
}

}  // namespace attend
