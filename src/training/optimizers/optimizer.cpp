#include "training/optimizers/optimizer.h"

#include "tensor/file_memory.h"
#include "tensor/parallel.h"
#include "training/optimizers/named_state.h"
#include "training/optimizers/update_rule.h"
#include "training/processes/handing_out.h"
#include "training/processes/sharded_layers.h"

#include <cmath>
#include <limits>
#include <set>

namespace attend {
namespace {

constexpr std::pair<const char*, OptimizerKind> kOptimizerNames[] = {
    {"adamw", OptimizerKind::adamw}, {"adafactor", OptimizerKind::adafactor}, {"sgd", OptimizerKind::sgd},
    {"lion", OptimizerKind::lion},   {"muon", OptimizerKind::muon},
};

std::unique_ptr<UpdateRule> make_rule(const OptimizerOptions& options) {
  switch (options.kind) {
    case OptimizerKind::adamw:
    case OptimizerKind::muon:  // for all but hidden matrices
      return make_adamw(options);
    case OptimizerKind::adafactor:
      return make_adafactor(options);
    case OptimizerKind::sgd:
      return make_sgd(options);
    case OptimizerKind::lion:
      return make_lion(options);
  }
  fail("optimizer: unknown kind {}", static_cast<int>(options.kind));
}

constexpr double kSmallestSize = 1e-3;  // for rate_by_size: so that zero weights learn too

void check_parts(const Parameter& p) {
  if (p.parts == 1) return;
  const bool has_rows = p.parts > 1 && p.weight.dim() > 0;
  const bool fits = p.first_rows > 0 ? has_rows && p.first_rows < p.weight.size(0) &&
                                           (p.weight.size(0) - p.first_rows) % (p.parts - 1) == 0
                                     : has_rows && p.weight.size(0) % p.parts == 0;
  if (!fits)
    fail("optimizer: {}: expected {} equal parts, found shape {}", p.name, p.parts, p.weight.sizes());
}

// Views of its parts.
std::vector<Tensor> parts_of(const Parameter& p, const Tensor& weight) {
  if (p.parts == 1) return {weight};
  if (p.first_rows == 0) return weight.chunk(p.parts);
  std::vector<Tensor> all = weight.narrow(0, p.first_rows, weight.size(0) - p.first_rows).chunk(p.parts - 1);
  all.insert(all.begin(), weight.narrow(0, 0, p.first_rows));
  return all;
}

// A float32 sum of squares may overflow although every gradient is finite; then the sum is computed in
// double.
double norm_of(const Tensor& gradient) {
  const double norm = ops::vector_norm(gradient).item<double>();
  if (std::isfinite(norm) || !gradient.is_floating_point()) return norm;
  return ops::vector_norm(gradient, 2, {}, false, kDouble).item<double>();
}

}  // namespace

OptimizerKind parse_optimizer(const std::string& name) {
  for (const auto& [known, kind] : kOptimizerNames)
    if (name == known) return kind;
  fail("`optimizer` {}: expected adamw, adafactor, sgd, lion or muon", name);
}

void check_range(const char* what, double value, double low, double high) {
  if (!(value >= low && value < high))
    fail("optimizer: {}: expected a number from {:g} to below {:g}, found {}", what, low, high, value);
}

double root_mean_square(const Tensor& x) {
  return ops::vector_norm(x).item<double>() / std::sqrt(static_cast<double>(x.numel()));
}

bool Update::in_loops() const {
  return on_kernels(weight) && on_kernels(gradient) && weight.is_contiguous();
}

Optimizer::Optimizer(const std::vector<Parameter>& parameters, const OptimizerOptions& options,
                     std::optional<OptimizerRanks> ranks)
    : rule_(make_rule(options)),
      weight_decay_(options.weight_decay),
      rate_by_size_(options.rate_by_size),
      ranks_(ranks) {
  check_range("weight decay", options.weight_decay, 0, std::numeric_limits<double>::infinity());
  const bool muon = options.kind == OptimizerKind::muon;
  if (muon) hidden_rule_ = make_muon(options);
  std::set<std::string> names;
  bool any_hidden = false;
  for (const Parameter& p : parameters) {
    if (!p.weight.needs_gradient() || p.weight.numel() == 0) continue;
    if (!names.insert(p.name).second) fail("optimizer: two parameters are called {}", p.name);
    const bool hidden = muon && p.hidden_matrix;
    if (hidden && p.weight.dim() != 2)
      fail("optimizer muon: {}: expected a matrix, found shape {}", p.name, p.weight.sizes());
    check_parts(p);
    any_hidden |= hidden;
    const UpdateRule* rule = hidden ? hidden_rule_.get() : rule_.get();
    parameters_.push_back(p);
    slots_.push_back({rule, {}});
  }
  if (parameters_.empty())
    fail("nothing to train: none of {} parameters needs a gradient", parameters.size());
  if (muon && !any_hidden)
    fail("optimizer muon: none of {} parameters is a matrix between hidden states; take adamw",
         parameters_.size());
  if (ranks_ && ranks_->sharded && !ranks_->ranks.alone()) share_out_parameters();
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (owns(i)) slots_[i].states = fresh_states(i);
}

Optimizer::~Optimizer() = default;

void Optimizer::share_out_parameters() {
  const ShardedLayers* const layers = ranks_->layers;
  std::vector<std::int64_t> sizes;
  for (const Parameter& p : parameters_)
    sizes.push_back(layers != nullptr && layers->owner(p.weight) ? 0 : p.weight.numel());
  owners_ = share_out(sizes, ranks_->ranks.size());
  for (std::size_t i = 0; layers != nullptr && i < parameters_.size(); ++i)
    owners_[i] = layers->owner(parameters_[i].weight).value_or(owners_[i]);
}

std::vector<std::vector<StateTensor>> Optimizer::fresh_states(std::size_t i) const {
  std::vector<std::vector<StateTensor>> states;
  for (const Tensor& part : parts_of(parameters_[i], parameters_[i].weight.detach()))
    states.push_back(slots_[i].rule->fresh_state(part));
  return states;
}

void Optimizer::step(double rate, double gradient_scale) {
  Unrecorded no_grad;
  ++steps_;
  std::vector<bool> changed(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Parameter& p = parameters_[i];
    if (!p.weight.gradient().defined()) continue;
    changed[i] = true;
    if (!owns(i)) {
      p.weight.mutable_gradient().reset();
      continue;
    }
    const std::vector<Tensor> weights = parts_of(p, p.weight.detach()),
                              gradients = parts_of(p, p.weight.gradient().contiguous());
    for (std::size_t part = 0; part < weights.size(); ++part) {
      double factor = p.rate;
      if (rate_by_size_) factor *= std::max(kSmallestSize, root_mean_square(weights[part]));
      slots_[i].rule->apply({weights[part], gradients[part], slots_[i].states[part], rate * factor,
                             gradient_scale, p.decays ? weight_decay_ : 0, steps_});
    }
    // May be written through pointers: packed copies of the weight must be updated.
    p.weight.bump_version();
    p.weight.mutable_gradient().reset();
  }
  if (!owners_.empty()) hand_out_weights(changed);
}

void Optimizer::hand_out_weights(const std::vector<bool>& changed) const {
  for (std::int64_t owner = 0; owner < ranks_->ranks.size(); ++owner) {
    std::vector<Tensor> weights;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (changed[i] && owners_[i] == owner && !is_sharded(i)) weights.push_back(parameters_[i].weight);
    hand_out(ranks_->ranks, weights, owner);
  }
}

void Optimizer::name_states(std::map<std::string, Tensor>& to, std::size_t i,
                            const std::vector<std::vector<StateTensor>>& states) const {
  for (std::size_t part = 0; part < states.size(); ++part)
    for (const StateTensor& tensor : states[part]) {
      std::string name = tensor.kind + "." + parameters_[i].name;
      if (states.size() > 1) name += fmt::format(".{}", part);
      to[name] = tensor.value;
    }
}

bool Optimizer::is_sharded(std::size_t i) const {
  return ranks_->layers != nullptr && ranks_->layers->owner(parameters_[i].weight);
}

std::map<std::string, Tensor> Optimizer::state(const std::filesystem::path& folder) const {
  std::map<std::string, Tensor> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (owners_.empty()) {
      name_states(all, i, slots_[i].states);
      continue;
    }
    const auto states = owns(i) ? slots_[i].states : fresh_states(i);
    std::map<std::string, Tensor> own;
    name_states(own, i, states);
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : own) tensors.push_back(tensor);
    hand_out(ranks_->ranks, tensors, owners_[i]);
    if (ranks_->ranks.first() && !owns(i) && !folder.empty())
      for (auto& [name, tensor] : own) tensor = ops::in_file(tensor, folder);
    if (ranks_->ranks.first() || owns(i)) all.merge(own);
  }
  return all;
}

void Optimizer::restore(const std::map<std::string, Tensor>& state, std::int64_t steps) {
  if (!ranks_ || ranks_->ranks.alone()) {
    restore_state(this->state(), state, "optimizer state");
  } else {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      auto states = fresh_states(i);
      std::map<std::string, Tensor> own;
      name_states(own, i, states);
      if (ranks_->ranks.first()) restore_state(own, state, "optimizer state");
      std::vector<Tensor> tensors;
      for (const auto& [name, tensor] : own) tensors.push_back(tensor);
      hand_out(ranks_->ranks, tensors);
      if (owns(i)) slots_[i].states = std::move(states);
    }
  }
  steps_ = steps;
}

std::unique_ptr<Optimizer> make_optimizer(const std::vector<Parameter>& parameters,
                                          const OptimizerOptions& options,
                                          std::optional<OptimizerRanks> ranks) {
  return std::make_unique<Optimizer>(parameters, options, ranks);
}

GradientNorm gradient_norm(std::span<const Parameter> parameters, Ranks* ranks, const ShardedLayers* layers) {
  Unrecorded no_grad;
  GradientNorm result;
  std::vector<double> norms, elsewhere;  // of each parameter; those of one process only
  for (const Parameter& p : parameters) {
    const double norm = p.weight.gradient().defined() ? norm_of(p.weight.gradient()) : 0;
    if (!std::isfinite(norm) && result.not_finite.empty()) result.not_finite = p.name;
    norms.push_back(norm);
  }
  if (layers != nullptr) {
    for (std::size_t i = 0; i < norms.size(); ++i)
      elsewhere.push_back(layers->owner(parameters[i].weight) ? norms[i] : 0);
    ranks->sum(elsewhere);
    for (std::size_t i = 0; i < norms.size(); ++i) {
      if (!layers->owner(parameters[i].weight)) continue;
      norms[i] = elsewhere[i];
      if (!std::isfinite(norms[i]) && result.not_finite.empty()) result.not_finite = parameters[i].name;
    }
  }
  double squares = 0;
  for (const double norm : norms) squares += norm * norm;
  result.norm = std::sqrt(squares);
  return result;
}

}  // namespace attend
