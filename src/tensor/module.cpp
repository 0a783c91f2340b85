#include "tensor/module.h"

namespace attend::ops::nn {
namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  tensor.set_needs_gradient(requires_grad && tensor.is_floating_point());
  return parameters_.insert(std::move(name), std::move(tensor));
}

void Module::collect(OrderedDict<Tensor>& into, const std::string& prefix, bool recurse) const {
  for (const auto& item : parameters_)
    if (item.value().defined()) into.insert(joined(prefix, item.key()), item.value());
  if (!recurse) return;
  for (const auto& child : children_) child.value()->collect(into, joined(prefix, child.key()), true);
}

void Module::collect(OrderedDict<std::shared_ptr<Module>>& into, const std::string& prefix) const {
  for (const auto& child : children_) {
    into.insert(joined(prefix, child.key()), child.value());
    child.value()->collect(into, joined(prefix, child.key()));
  }
}

OrderedDict<Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<Tensor> all;
  collect(all, "", recurse);
  return all;
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  std::vector<Tensor> all;
  for (const auto& item : named_parameters(recurse)) all.push_back(item.value());
  return all;
}

OrderedDict<std::shared_ptr<Module>> Module::named_modules(const std::string& prefix,
                                                           bool include_self) const {
  OrderedDict<std::shared_ptr<Module>> all;
  if (include_self) all.insert(prefix, std::const_pointer_cast<Module>(shared_from_this()));
  collect(all, prefix);
  return all;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> all;
  for (const auto& item : named_modules("", include_self)) all.push_back(item.value());
  return all;
}

}  // namespace attend::ops::nn
