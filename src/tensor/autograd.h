// Functions of tensors that bring their own backward pass, and gradients that are asked for by name.
#pragma once

#include "tensor/tape.h"

#include <any>
#include <map>
#include <memory>
#include <string>

namespace attend::ops {

namespace autograd {

// What a function keeps of its own for the backward pass.
struct Kept {
  virtual ~Kept() = default;
};

// A value kept for the backward pass.
class Value {
 public:
  Value() = default;
  Value(bool value) : value_(value) {}
  Value(std::int64_t value) : value_(value) {}
  Value(double value) : value_(value) {}
  Value(std::vector<std::int64_t> value) : value_(std::move(value)) {}
  Value(std::shared_ptr<Kept> value) : value_(std::move(value)) {}
  bool toBool() const { return std::any_cast<bool>(value_); }
  std::int64_t toInt() const { return std::any_cast<std::int64_t>(value_); }
  double toDouble() const { return std::any_cast<double>(value_); }
  std::vector<std::int64_t> toIntVector() const { return std::any_cast<std::vector<std::int64_t>>(value_); }
  std::shared_ptr<Kept> kept() const { return std::any_cast<std::shared_ptr<Kept>>(value_); }

 private:
  std::any value_;
};

using ops::Node;
using variable_list = std::vector<Tensor>;

class AutogradContext {
 public:
  void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
  variable_list get_saved_variables() const {
    variable_list all;
    for (const Saved& saved : saved_) all.push_back(saved());
    return all;
  }
  // Of the tensors among the arguments that are there, in their order.
  bool needs_input_grad(std::size_t i) const { return needed_.at(i); }
  void mark_dirty(const variable_list& tensors) { dirty_ = tensors; }
  std::map<std::string, Value> saved_data;

 private:
  template <class T>
  friend struct Function;
  void save(const Tensor& result) {
    for (const Tensor& t : to_save_) saved_.push_back(t.is_same(result) ? Saved::result(t) : Saved(t));
    to_save_.clear();
  }

  variable_list to_save_, dirty_;
  std::vector<Saved> saved_;
  std::vector<bool> needed_;
};

// T::forward(context, arguments...) gives a tensor; T::backward(context, {its gradient}) one for each
// argument, and for each tensor of one that is several: undefined where an argument is none.
template <class T>
struct Function {
  template <class... Arguments>
  static Tensor apply(Arguments&&... arguments) {
    auto node = std::make_shared<FunctionNode>();
    std::vector<Tensor> inputs;
    (node->note(inputs, arguments), ...);
    const bool recorded = GradMode::is_enabled() && std::any_of(inputs.begin(), inputs.end(), needs_gradient);
    Tensor result;
    {
      const NoGradGuard unrecorded;
      result = T::forward(&node->context, std::forward<Arguments>(arguments)...);
    }
    AutogradContext& context = node->context;
    for (const Tensor& dirty : context.dirty_) dirty.bump_version();
    if (!recorded) return result;
    context.save(result);
    const bool changed = !context.dirty_.empty();
    context.dirty_.clear();
    for (const Tensor& input : inputs) context.needed_.push_back(needs_gradient(input));
    const Rule rule = [node](const Tensor& gradient) { return node->run(gradient); };
    if (changed) {  // the first of the arguments, in place
      begin_write(result);
      inputs.erase(inputs.begin());
      record_write(result, inputs, rule);
    } else {
      record(result, inputs, rule);
    }
    return result;
  }

 private:
  struct FunctionNode {
    AutogradContext context;
    std::vector<bool> is_tensor;  // argument by argument

    void note(std::vector<Tensor>& inputs, const Tensor& t) {
      is_tensor.push_back(true);
      inputs.push_back(t);
    }
    void note(std::vector<Tensor>& inputs, const std::optional<Tensor>& t) {
      is_tensor.push_back(t && t->defined());
      if (is_tensor.back()) inputs.push_back(*t);
    }
    void note(std::vector<Tensor>& inputs, const TensorList& all) {
      for (const Tensor& t : all) note(inputs, t);
    }
    template <class Other>
    void note(std::vector<Tensor>&, const Other&) {
      is_tensor.push_back(false);
    }
    std::vector<Tensor> run(const Tensor& gradient) {
      const variable_list all = T::backward(&context, {gradient});
      std::vector<Tensor> own;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (i < is_tensor.size() && is_tensor[i]) own.push_back(all[i]);
      return own;
    }
  };
};

// The gradients of outputs in inputs. There are no second ones, so create_graph is false.
inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& gradients = {}, std::optional<bool> keep_graph = false,
                          bool create_graph = false, bool allow_unused = false) {
  if (create_graph) fail("there are no gradients of gradients");
  variable_list found = run_backward(outputs, gradients, inputs, keep_graph.value_or(false));
  for (const Tensor& t : found)
    if (!t.defined() && !allow_unused) fail("the gradient was asked for of something that was not used");
  return found;
}

}  // namespace autograd
}  // namespace attend::ops
