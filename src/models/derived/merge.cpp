#include "models/derived/merge.h"

#include "models/adapters/adapter.h"
#include "models/checkpoint/original_modules.h"

#include <cmath>

namespace attend {
namespace {

// The bias of a matrix; undefined if it has none.
Tensor bias_of(const PretrainedModel& model, const OriginalModule& module) {
  std::string name = module.parameter;
  name.replace(name.rfind("weight"), 6, "bias");
  const auto parameters = model.network()->named_parameters();
  const auto* found = parameters.find(name);
  return found == nullptr ? Tensor() : *found;
}

void add_bias(const PretrainedModel& model, const OriginalModule& module, const Tensor& more) {
  Tensor bias = bias_of(model, module);
  if (!bias.defined())
    fail(
        "{}: the adapter's factors have a bias (lora_bias), but the model's matrix has none to merge it into",
        module.name);
  bias.narrow(0, module.first, module.out).add_(more);
}

void merge(const PretrainedModel& model, const OriginalModule& module, const MatrixAdapter& m) {
  Tensor rows = parameter_of(model, module).narrow(0, m.first, m.count);  // [out, in]
  const Tensor bias = bias_of(model, module);
  if (m.input_factors.defined()) rows.mul_((m.input_factors.flatten() - 1) * m.share + 1);
  if (m.result_factors.defined()) {
    const Tensor factors = (m.result_factors.flatten() - 1) * m.share + 1;
    rows.mul_(factors.unsqueeze(1));
    if (bias.defined()) bias.narrow(0, m.first, m.count).mul_(factors);
  }
  if (!m.a.defined()) return;
  Tensor change = ops::matmul(m.b, m.a) * m.scale, more = m.bias.defined() ? m.bias * m.scale : Tensor();
  if (m.magnitude.defined()) {
    const Tensor factor = m.magnitude / m.lengths(rows);
    change = (rows + change) * factor.unsqueeze(1) - rows;
    if (more.defined()) more = more * factor;
  }
  rows.add_(change, m.share);
  if (more.defined()) add_bias(model, module, more * m.share);
}

void unmerge(const PretrainedModel& model, const OriginalModule& module, const MatrixAdapter& m) {
  Tensor rows = parameter_of(model, module).narrow(0, m.first, m.count);
  const Tensor bias = bias_of(model, module);
  if (m.magnitude.defined())
    fail("{}: DoRA cannot be unmerged: the original lengths of the rows are lost", module.name);
  const auto checked = [&](const Tensor& factors) {
    const Tensor all = (factors.flatten() - 1) * m.share + 1;
    if (all.eq(0).any().item<bool>())
      fail("{}: the adapter cannot be unmerged: a factor is 0, so the original numbers are lost",
           module.name);
    return all;
  };
  if (m.a.defined()) rows.sub_(ops::matmul(m.b, m.a), m.scale * m.share);
  if (m.bias.defined()) add_bias(model, module, m.bias * (-m.scale * m.share));
  if (m.input_factors.defined()) rows.div_(checked(m.input_factors));
  if (m.result_factors.defined()) {
    rows.div_(checked(m.result_factors).unsqueeze(1));
    if (bias.defined()) bias.narrow(0, m.first, m.count).div_(checked(m.result_factors));
  }
}

bool is_shared(const PretrainedModel& model, const OriginalModule& module) {
  const ModelSpec& spec = model.network()->spec();
  return module.parameter.ends_with(".tokens") &&
         ((spec.language_model_head && !spec.language_model_head->untied) ||
          (model.network()->is_encoder_decoder() && spec.share_embeddings));
}

void change_table(const PretrainedModel& model, const OriginalModule& module, const TableAdapter& t,
                  double sign) {
  if (is_shared(model, module))
    fail(
        "{}: the adapter cannot be merged: other parts of the model read this table without the adapter; use "
        "it with `adapter`",
        module.name);
  Tensor table = parameter_of(model, module);  // [n, d]
  Tensor change = ops::matmul(t.b, t.a).t() * t.scale;
  if (t.magnitude.defined()) {
    if (sign < 0) fail("{}: DoRA cannot be unmerged: the original lengths of the rows are lost", module.name);
    change = (table + change) * (t.magnitude / ops::vector_norm(table + change, 2, {0})) - table;
  }
  table.add_(change, sign * t.share);
}

void check_can_merge(const PretrainedModel& model) {
  for (const auto& adapter : model.adapters())
    if (adapter->has_virtual_tokens())
      fail("{}: the adapter cannot be merged: weights cannot hold its virtual tokens; use it with `adapter`",
           adapter->source());
}

}  // namespace

RoundingCost merge_adapters(PretrainedModel& model, ScalarType type) {
  const Unrecorded no_grad;
  check_can_merge(model);
  RoundingCost squares;
  double numbers = 0;
  const auto watched = [&](const Tensor& weight, const auto& change) {
    const Tensor before = weight.clone();
    change();
    squares.change += (weight - before).square().sum(kDouble).item<double>();
    squares.error += (weight.to(type).to(kFloat) - weight).square().sum(kDouble).item<double>();
    numbers += static_cast<double>(weight.numel());
  };
  for (const OriginalModule& module : original_modules(model)) {
    const Tensor weight = parameter_of(model, module);
    if (module.is_table) {
      for (const TableAdapter& t : table_adapters(model, module))
        watched(weight, [&] { change_table(model, module, t, 1); });
    } else {
      for (const MatrixAdapter& m : matrix_adapters(model, module))
        if (m.first == module.first)
          watched(weight.narrow(0, m.first, m.count), [&] { merge(model, module, m); });
    }
  }
  Adapter::detach(model);
  model.forget_adapters();
  if (numbers == 0) return {};
  return {std::sqrt(squares.change / numbers), std::sqrt(squares.error / numbers)};
}

void unmerge_adapters(PretrainedModel& model) {
  const Unrecorded no_grad;
  check_can_merge(model);
  for (const OriginalModule& module : original_modules(model)) {
    if (module.is_table) {
      for (const TableAdapter& t : table_adapters(model, module)) change_table(model, module, t, -1);
    } else {
      std::vector<MatrixAdapter>& all = matrix_adapters(model, module);
      for (auto m = all.rbegin(); m != all.rend(); ++m)
        if (m->first == module.first) unmerge(model, module, *m);
    }
  }
  Adapter::detach(model);
  model.forget_adapters();
}

}  // namespace attend
