// Functions of one element, written once for numbers and for devices. A function such as
//   [](auto x) { return x / (1 + math::exp(-x)); }
// computes numbers in a loop over the program's memory. Called with an Element, which stands for all elements
// of a tensor, the same lines compute the tensor on its device.
#pragma once

#include "tensor/ops.h"

#include <cmath>
#include <limits>

namespace attend::ops {

struct Element {
  Tensor all;

  explicit Element(Tensor x) : all(std::move(x)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Element(T constant) : constant_(static_cast<double>(constant)) {}

  bool is_constant() const { return !all.defined(); }
  double constant() const { return constant_; }

 private:
  double constant_ = 0;
};

// a and b as tensors; constants get the type of the other operand.
Element operator+(const Element& a, const Element& b);
Element operator-(const Element& a, const Element& b);
Element operator*(const Element& a, const Element& b);
Element operator/(const Element& a, const Element& b);
Element operator-(const Element& x);
Element operator<(const Element& a, const Element& b);
Element operator<=(const Element& a, const Element& b);
Element operator>(const Element& a, const Element& b);
Element operator>=(const Element& a, const Element& b);
Element operator==(const Element& a, const Element& b);
Element operator!=(const Element& a, const Element& b);
Element operator&&(const Element& a, const Element& b);
Element operator||(const Element& a, const Element& b);
Element operator&(const Element& a, const Element& b);
Element operator>>(const Element& a, const Element& b);
Element modulo(const Element& a, const Element& b);  // has the sign of b

// a where the condition holds, else b. Both are computed.
template <class T>
T choose(bool condition, T a, T b) {
  return condition ? a : b;
}
Element choose(const Element& condition, const Element& a, const Element& b);

namespace math {

using std::abs, std::ceil, std::cos, std::erf, std::exp, std::exp2, std::floor, std::isfinite, std::log,
    std::log1p, std::log2, std::nearbyint, std::pow, std::sin, std::sqrt, std::tanh;
Element abs(const Element& x);
Element ceil(const Element& x);
Element cos(const Element& x);
Element erf(const Element& x);
Element exp(const Element& x);
Element exp2(const Element& x);
Element floor(const Element& x);
Element isfinite(const Element& x);
Element log(const Element& x);
Element log1p(const Element& x);
Element log2(const Element& x);
Element nearbyint(const Element& x);
Element pow(const Element& base, const Element& exponent);
Element sin(const Element& x);
Element sqrt(const Element& x);
Element tanh(const Element& x);

}  // namespace math
}  // namespace attend::ops
