// What stands for torch's gradients where there are none: a function is its forward pass, and what it keeps
// for the backward pass is let go.
#pragma once

#include "tensor/host/tensor.h"

#include <map>
#include <memory>

namespace attend::host {

struct GradMode {
  static constexpr bool is_enabled() { return false; }
};
struct NoGradGuard {
  NoGradGuard() {}
};
struct AutoGradMode {
  explicit AutoGradMode(bool) {}
};
struct InferenceMode {
  InferenceMode() {}
};

struct CustomClassHolder {
  virtual ~CustomClassHolder() = default;
};
template <class T, class... Arguments>
std::shared_ptr<T> make_intrusive(Arguments&&... arguments) {
  return std::make_shared<T>(std::forward<Arguments>(arguments)...);
}

// A value kept for the backward pass: none is.
class IValue {
 public:
  IValue() = default;
  template <class T>
  IValue(const T&) {}
  template <class T>
  static IValue make_capsule(const T&) {
    return {};
  }
  bool toBool() const { refuse(); }
  std::int64_t toInt() const { refuse(); }
  double toDouble() const { refuse(); }
  std::vector<std::int64_t> toIntVector() const { refuse(); }
  std::shared_ptr<CustomClassHolder> toCapsule() const { refuse(); }

 private:
  [[noreturn]] static void refuse() { fail("this part of attend computes no gradients"); }
};

namespace autograd {

using variable_list = std::vector<Tensor>;

class AutogradContext {
 public:
  void save_for_backward(const variable_list&) {}
  variable_list get_saved_variables() const { return {}; }
  bool needs_input_grad(std::size_t) const { return false; }
  void mark_dirty(const variable_list&) {}
  void mark_non_differentiable(const variable_list&) {}
  void set_materialize_grads(bool) {}
  std::map<std::string, IValue> saved_data;
};

template <class T>
struct Function {
  template <class... Arguments>
  static auto apply(Arguments&&... arguments) {
    AutogradContext context;
    return T::forward(&context, std::forward<Arguments>(arguments)...);
  }
};

inline variable_list grad(const variable_list&, const variable_list&, const variable_list& = {}, bool = false,
                          bool = false, bool = false) {
  fail("this part of attend computes no gradients");
}

}  // namespace autograd
}  // namespace attend::host
