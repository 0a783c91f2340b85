#include "training/optimizers/local_steps.h"

#include "training/optimizers/named_state.h"
#include "training/optimizers/update_rule.h"
#include "training/processes/handing_out.h"

#include <algorithm>
#include <cmath>

namespace attend {

OuterOptimizer::OuterOptimizer(Ranks& ranks, std::span<const Parameter> parameters,
                               const LocalStepOptions& options)
    : ranks_(ranks), options_(options) {
  check_range("`outer_rate`", options.rate, 0, 100);
  check_range("`outer_momentum`", options.momentum, 0, 1);
  for (const Parameter& p : parameters) {
    if (p.weight.type() != kFloat) fail("{}: several processes train numbers of float32", p.name);
    items_.push_back({p.name, p.weight, p.weight.detach().clone(), ops::zeros(p.weight.sizes())});
  }
}

void OuterOptimizer::step() {
  const Unrecorded no_grad;
  // Values in half precision are between 6e-5 and 65504: each tensor is scaled so that no sum can exceed
  // that.
  std::vector<Tensor> moved;
  std::vector<double> bounds;
  for (const Item& item : items_) {
    moved.push_back(item.start - item.weight.detach());
    bounds.push_back(moved.back().abs().max().item<double>());
  }
  ranks_.sum(bounds);
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (!std::isfinite(bounds[i]))
      fail("{}: a process has gone to numbers that are not finite", items_[i].name);
  // If another process is lost, the engine may write to them later; then they are not freed.
  auto* const kept = new std::vector<Tensor>();
  std::vector<Tensor>& halves = *kept;
  std::vector<std::unique_ptr<Ranks::Work>> sums;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    bounds[i] = bounds[i] > 0 ? std::exp2(std::min(60.0, std::floor(std::log2(32768 / bounds[i])))) : 1;
    halves.push_back((moved[i] * bounds[i]).to(kHalf).home().contiguous());
    moved[i].reset();
    auto* const numbers = static_cast<std::uint16_t*>(halves[i].data());
    sums.push_back(ranks_.begin_sum_halves({numbers, static_cast<std::size_t>(halves[i].numel())}));
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    sums[i]->wait();
    Item& item = items_[i];
    const Tensor mean = halves[i].to(kFloat) * (1 / (bounds[i] * static_cast<double>(ranks_.size())));
    item.momentum.mul_(options_.momentum).add_(mean);
    item.start.add_(mean.add_(item.momentum, options_.momentum), -options_.rate);
    item.weight.detach().copy_(item.start);
    item.weight.bump_version();
  }
  delete kept;
}

void OuterOptimizer::share_state(const std::map<std::string, Tensor>& state) const {
  const Unrecorded no_grad;
  for (const auto& [name, tensor] : state) {
    const Tensor whole = tensor.to(kFloat).home().contiguous();
    ranks_.begin_sum({whole.data<float>(), static_cast<std::size_t>(whole.numel())})->wait();
    Tensor(tensor).copy_(whole / static_cast<double>(ranks_.size()));
  }
}

std::map<std::string, Tensor> OuterOptimizer::state() const {
  std::map<std::string, Tensor> all;
  for (const Item& item : items_) all["outer." + item.name] = item.momentum;
  return all;
}

void OuterOptimizer::restore(const std::map<std::string, Tensor>& state) {
  if (ranks_.first()) restore_state(this->state(), state, "outer optimizer");
  std::vector<Tensor> tensors;
  for (const Item& item : items_) tensors.push_back(item.momentum);
  hand_out(ranks_, tensors);
}

}  // namespace attend
