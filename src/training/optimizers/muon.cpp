// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/) as torch.optim.Muon: the mean of a
// matrix's gradients, with all singular values set to about 1. For training from scratch; a model that Adam
// has trained is better fine-tuned by Adam (arXiv:2605.10468).
//
// Products are float32, or rounded to bfloat16 if the run's are (Bfloat16Products); torch always rounds.
#include "nn/linear/linear.h"
#include "training/optimizers/update_rule.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // the largest slope at 0 with values that stay near
                                                          // 1
constexpr double kEpsilon = 1e-7;

// Approximates U V^T of x = U S V^T
Tensor orthogonalized(Tensor x, std::int64_t steps) {
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = x.t();  // products over the shorter side
  x = (x / std::max(kEpsilon, ops::vector_norm(x).item<double>())).contiguous();
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor gram = matrix_product(x, x.t());
    Tensor polynomial = matrix_product(gram, gram).mul_(kC).add_(gram, kB);
    polynomial.diagonal().add_(kA);
    x = matrix_product(polynomial, x);
  }
  return tall ? x.t() : x;
}

class Muon : public UpdateRule {
 public:
  explicit Muon(const MuonOptions& options) : options_(options) {
    check_range("Muon's momentum", options.momentum, 0, 1);
    check_range("Muon's steps", static_cast<double>(options.steps), 1, 100);
  }

  std::vector<StateTensor> fresh_state(const Tensor& weight) const override {
    return {{"momentum", ops::zeros_like(weight)}};
  }

  void apply(const Update& u) const override {
    const Tensor g = u.scaled(), &mean = u.state[0].value;
    mean.lerp_(g, 1 - options_.momentum);
    const Tensor step = options_.nesterov ? g.lerp(mean, options_.momentum) : mean;
    if (u.decay > 0) u.weight.mul_(1 - u.rate * u.decay);
    u.weight.add_(orthogonalized(step, options_.steps), -u.rate * shape_factor(u.weight));
  }

 private:
  double shape_factor(const Tensor& weight) const {
    const auto out = static_cast<double>(weight.size(0)), in = static_cast<double>(weight.size(1));
    return options_.match_adamw ? 0.2 * std::sqrt(std::max(out, in)) : std::sqrt(std::max(1.0, out / in));
  }

  MuonOptions options_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_muon(const OptimizerOptions& options) {
  return std::make_unique<Muon>(options.muon);
}

}  // namespace attend
