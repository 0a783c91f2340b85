// Lion (Chen et al. 2023, arXiv:2302.06675, algorithm 2): a step is the sign of a mean of gradients, so all
// steps have the same length. Needs a learning rate 3 to 10 times below AdamW's, and a weight decay higher by
// the same factor.
#include "tensor/parallel.h"
#include "training/optimizers/update_rule.h"

namespace attend {
namespace {

class Lion : public UpdateRule {
 public:
  explicit Lion(const OptimizerOptions& options) : beta1_(options.beta1), beta2_(options.beta2) {
    check_range("beta1", beta1_, 0, 1);
    check_range("beta2", beta2_, 0, 1);
  }

  std::vector<StateTensor> fresh_state(const Tensor& weight) const override {
    return {{"mean", ops::zeros_like(weight)}};
  }

  void apply(const Update& u) const override {
    const Tensor &weight = u.weight, &mean = u.state[0].value;
    if (u.in_loops()) {
      const auto rate = static_cast<float>(u.rate), scale = static_cast<float>(u.scale),
                 kept = static_cast<float>(1 - u.rate * u.decay), beta1 = static_cast<float>(beta1_),
                 beta2 = static_cast<float>(beta2_);
      float *const w = weight.data<float>(), *const m = mean.data<float>();
      const float* const gradient = u.gradient.const_data<float>();
      parallel_ranges(weight.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const float g = gradient[i] * scale, mixed = beta1 * m[i] + (1 - beta1) * g;
          const auto sign = static_cast<float>((mixed > 0) - (mixed < 0));
          w[i] = w[i] * kept - rate * sign;
          m[i] = beta2 * m[i] + (1 - beta2) * g;
        }
      });
      return;
    }
    const Tensor g = u.scaled();
    weight.mul_(1 - u.rate * u.decay);
    weight.add_((mean * beta1_).add_(g, 1 - beta1_).sign_(), -u.rate);
    mean.mul_(beta2_).add_(g, 1 - beta2_);
  }

 private:
  double beta1_, beta2_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_lion(const OptimizerOptions& options) {
  return std::make_unique<Lion>(options);
}

}  // namespace attend
