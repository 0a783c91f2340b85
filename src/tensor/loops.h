// Element-wise loops, with broadcasting, and their gradient rules. Only this folder uses them.
#pragma once

#include "tensor/device.h"
#include "tensor/element.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cmath>

namespace attend::ops {

// out[i] = op(a[i], b[i]) for elements of type In; out has the broadcast shape.
template <class Out, class In, class Op>
void loop(const Tensor& out, const Tensor& a, const Tensor& b, Op op) {
  const Tensor x = a.expand(out.sizes()), y = b.expand(out.sizes());
  Out* const to = out.data<Out>();
  const In *const left = x.const_data<In>(), *const right = y.const_data<In>();
  const std::array<Dimensions, 3> strides{out.body().strides, x.body().strides, y.body().strides};
  for_each_row_at_once(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
    Out* const t = to + starts[0];
    const In *const l = left + starts[1], *const r = right + starts[2];
    if (steps[0] == 1 && steps[1] == 1 && steps[2] == 1)
      for (std::int64_t i = 0; i < n; ++i) t[i] = op(l[i], r[i]);
    else if (steps[0] == 1 && steps[1] == 1 && steps[2] == 0)
      for (std::int64_t i = 0; i < n; ++i) t[i] = op(l[i], *r);
    else
      for (std::int64_t i = 0; i < n; ++i) t[i * steps[0]] = op(l[i * steps[1]], r[i * steps[2]]);
  });
}

// op(a, b) on a device. What only chooses between constants has no type of its own.
template <class Op>
Tensor on_device(Device& device, const Tensor& a, const Tensor& b, Op op) {
  return op(Element(operand_on(device, a)), Element(operand_on(device, b))).all;
}

template <class Op>
void into(const Tensor& out, const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  const Tensor x = a.to(type), y = b.to(type);
  if (Device* const device = device_of(out, x, y)) {
    out.copy_(on_device(*device, x, y, op));  // also to the program's memory
    return;
  }
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (out.type() == type) return loop<T, T>(out, x, y, op);
    const Tensor made = empty(out.sizes(), type);
    loop<T, T>(made, x, y, op);
    out.copy_(made);
  });
}

template <class Op>
Tensor arithmetic(const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  if (Device* const device = device_of(a, b)) return on_device(*device, a.to(type), b.to(type), op).to(type);
  const Tensor out = empty(broadcast(a.sizes(), b.sizes()), type);
  into(out, a, b, type, op);
  return out;
}

template <class Op>
Tensor comparison(const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  if (Device* const device = device_of(a, b)) return on_device(*device, a.to(type), b.to(type), op);
  const Tensor out = empty(broadcast(a.sizes(), b.sizes()), kBool), x = a.to(type), y = b.to(type);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    loop<bool, T>(out, x, y, op);
  });
  return out;
}

inline Tensor alone(Scalar value, ScalarType type) {
  return scalar_tensor(value, type);
}

// The floating-point type in which integers and booleans are computed.
inline ScalarType floating(ScalarType type) {
  return is_floating(type) ? type : kFloat;
}

inline constexpr auto kAdd = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
inline constexpr auto kSubtract = [](auto a, auto b) { return static_cast<decltype(a)>(a - b); };
inline constexpr auto kMultiply = [](auto a, auto b) { return static_cast<decltype(a)>(a * b); };
inline constexpr auto kDivide = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>)
    return a;  // never called: integers are converted to float first
  else
    return a / b;
};
inline constexpr auto kEqual = [](auto a, auto b) { return a == b; };
inline constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
inline constexpr auto kLess = [](auto a, auto b) { return a < b; };
inline constexpr auto kLessOrEqual = [](auto a, auto b) { return a <= b; };
inline constexpr auto kGreater = [](auto a, auto b) { return a > b; };
inline constexpr auto kGreaterOrEqual = [](auto a, auto b) { return a >= b; };

// b * factor, in the common type of a and b.
inline Tensor scaled(const Tensor& a, const Tensor& b, Scalar factor) {
  return factor.to<double>() == 1 ? b : b.to(common_type(a, b)) * factor;
}

// f of each element, computed in floating point.
template <class F>
Tensor function(const Tensor& x, F f) {
  const Tensor from = x.to(floating(x.type()));
  if (from.device() != nullptr) return f(Element(from)).all.to(from.type());
  const Tensor out = empty_like(from);
  const std::array<Dimensions, 2> strides{out.body().strides, from.body().strides};
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data<T>();
    const T* const data = from.const_data<T>();
    for_each_row_at_once(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      for (std::int64_t i = 0; i < n; ++i) to[starts[0] + i * steps[0]] = f(data[starts[1] + i * steps[1]]);
    });
  };
  from.type() == kDouble ? run(double{}) : run(float{});
  return out;
}

// f of each element, as an integer; integers stay unchanged.
template <class F>
Tensor to_integers(const Tensor& x, F f) {
  return x.is_floating_point() ? function(x, f) : x.clone();
}

// f of each element, in its own type.
template <class F>
Tensor same_type(const Tensor& x, F f) {
  return arithmetic(x, x, x.type(), [f](auto a, auto) { return static_cast<decltype(a)>(f(a)); });
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + math::exp(-x));
}

// make() if the input needs a gradient.
template <class Make>
Tensor wanted_from(bool needs, const Make& make) {
  return needs ? make() : Tensor();
}

// An element-wise function whose gradient is g times slope(x).
template <class Compute, class Slope>
Tensor differentiable(const Tensor& x, const Compute& compute, const Slope& slope) {
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [x = Saved(x), slope](const Tensor& g) { return std::vector<Tensor>{g * slope(x())}; };
      },
      x);
}

// The same with the slope as a function of one element. A tensor that only the other form needs is not kept.
template <class F, class Slope>
Tensor of_input(const Tensor& x, const F& f, const Slope& slope) {
  return with_rule([&] { return function(x, f); },
                   [&](const Tensor&) {
                     return [x = Saved(x), slope](const Tensor& g) {
                       return std::vector<Tensor>{g * function(x(), slope)};
                     };
                   },
                   x);
}
template <class F, class Slope>
Tensor of_result(const Tensor& x, const F& f, const Slope& slope) {
  return with_rule([&] { return function(x, f); },
                   [&](const Tensor& y) {
                     return [y = Saved::result(y), slope](const Tensor& g) {
                       return std::vector<Tensor>{g * function(y(), slope)};
                     };
                   },
                   x);
}

// A step function: its gradient is zero.
template <class Compute>
Tensor flat(const Tensor& x, const Compute& compute) {
  return with_rule(
      compute,
      [](const Tensor&) { return [](const Tensor& g) { return std::vector<Tensor>{zeros_like(g)}; }; }, x);
}

}  // namespace attend::ops
