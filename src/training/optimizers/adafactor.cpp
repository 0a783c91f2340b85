// Adafactor (Shazeer & Stern 2018, arXiv:1804.04235) as in transformers.optimization.Adafactor. For a matrix
// [n, m] it keeps the mean squared gradients of rows [n] and columns [m], whose product replaces Adam's [n,
// m] second moments; for a vector the second moments themselves. A tensor [..., n, m] is a stack of matrices.
#include "training/optimizers/update_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend {
namespace {

class Adafactor : public UpdateRule {
 public:
  explicit Adafactor(const AdafactorOptions& options) : options_(options) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    check_range("Adafactor's beta1", options.beta1, 0, 1);
    check_range("Adafactor's epsilon of squares", options.epsilon_square, 0, kInfinity);
    check_range("Adafactor's decay rate", options.decay_rate, -kInfinity, 0);
    check_range("Adafactor's clip threshold", options.clip_threshold, std::numeric_limits<double>::min(),
                kInfinity);
  }

  std::vector<StateTensor> fresh_state(const Tensor& weight) const override {
    std::vector<StateTensor> state;
    if (weight.dim() < 2) {
      state.push_back({"variance", ops::zeros_like(weight)});
    } else {
      std::vector<std::int64_t> rows = weight.sizes().vec(), columns = rows;
      rows.pop_back();
      columns.erase(columns.end() - 2);
      state.push_back({"row_variance", ops::zeros(rows, weight.type())});
      state.push_back({"column_variance", ops::zeros(columns, weight.type())});
    }
    if (options_.beta1 > 0) state.push_back({"mean", ops::zeros_like(weight)});
    return state;
  }

  void apply(const Update& u) const override {
    const double kept = 1 - std::pow(static_cast<double>(u.step), options_.decay_rate);
    const Tensor g = u.scaled();
    const auto mix = [&](const Tensor& moment, const Tensor& now) { moment.mul_(kept).add_(now, 1 - kept); };
    Tensor step = g.square().add_(options_.epsilon_square);  // first the squares of g
    if (u.weight.dim() < 2) {
      const Tensor& variance = u.state[0].value;
      mix(variance, step);
      step = variance.rsqrt().mul_(g);
    } else {
      const Tensor &row = u.state[0].value, &column = u.state[1].value;
      mix(row, step.mean(-1));
      mix(column, step.mean(-2));
      step = g * (row / row.mean(-1, /*keepdim=*/true)).rsqrt_().unsqueeze(-1);
      step.mul_(column.rsqrt().unsqueeze(-2));
    }
    step.mul_(u.rate / std::max(1.0, root_mean_square(step) / options_.clip_threshold));
    if (options_.beta1 > 0) {
      const Tensor& mean = u.state.back().value;
      mean.mul_(options_.beta1).add_(step, 1 - options_.beta1);
      step = mean;
    }
    if (u.decay > 0) u.weight.mul_(1 - u.rate * u.decay);
    u.weight.sub_(step);
  }

 private:
  AdafactorOptions options_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adafactor(const OptimizerOptions& options) {
  return std::make_unique<Adafactor>(options.adafactor);
}

}  // namespace attend
