// Number by number, with broadcasting.
#include "tensor/host/walk.h"

#include <cmath>

#include <fmt/ranges.h>

namespace attend::host {
namespace {

int category(ScalarType type) {
  return type == kBool ? 0 : isFloatingType(type) ? 2 : 1;
}

// out[i] = op(a[i], b[i]), of numbers of type In; out has its shape.
template <class Out, class In, class Op>
void loop(const Tensor& out, const Tensor& a, const Tensor& b, Op op) {
  const Tensor x = a.expand(out.sizes()), y = b.expand(out.sizes());
  Out* const to = out.data_ptr<Out>();
  const In *const left = x.const_data_ptr<In>(), *const right = y.const_data_ptr<In>();
  const std::array<Dimensions, 3> strides{out.body().strides, x.body().strides, y.body().strides};
  for_each_row(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
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

template <class Op>
void into(const Tensor& out, const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  const Tensor x = a.to(type), y = b.to(type);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (out.scalar_type() == type) return loop<T, T>(out, x, y, op);
    const Tensor made = empty(out.sizes(), type);
    loop<T, T>(made, x, y, op);
    out.copy_(made);
  });
}

template <class Op>
Tensor arithmetic(const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  const Tensor out = empty(broadcast(a.sizes(), b.sizes()), type);
  into(out, a, b, type, op);
  return out;
}

template <class Op>
Tensor comparison(const Tensor& a, const Tensor& b, ScalarType type, Op op) {
  const Tensor out = empty(broadcast(a.sizes(), b.sizes()), kBool), x = a.to(type), y = b.to(type);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    loop<bool, T>(out, x, y, op);
  });
  return out;
}

Tensor alone(Scalar value, ScalarType type) {
  return scalar_tensor(value, type);
}

// Of integers and truth values a float is computed with.
ScalarType floating(ScalarType type) {
  return isFloatingType(type) ? type : kFloat;
}

constexpr auto kAdd = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
constexpr auto kSubtract = [](auto a, auto b) { return static_cast<decltype(a)>(a - b); };
constexpr auto kMultiply = [](auto a, auto b) { return static_cast<decltype(a)>(a * b); };
constexpr auto kDivide = [](auto a, auto b) {
  if constexpr (std::is_floating_point_v<decltype(a)>)
    return a / b;
  else
    return a;  // never called: of integers a float is made
};
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessOrEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterOrEqual = [](auto a, auto b) { return a >= b; };

// b * factor, in the type that a and b have together.
Tensor scaled(const Tensor& a, const Tensor& b, Scalar factor) {
  return factor.to<double>() == 1 ? b : b.to(common_type(a, b)) * factor;
}

// f of each number, in floats.
template <class F>
Tensor function(const Tensor& x, F f) {
  const Tensor from = x.to(floating(x.scalar_type())), out = empty_like(from);
  const std::array<Dimensions, 2> strides{out.body().strides, from.body().strides};
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data_ptr<T>();
    const T* const data = from.const_data_ptr<T>();
    for_each_row(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      for (std::int64_t i = 0; i < n; ++i) to[starts[0] + i * steps[0]] = f(data[starts[1] + i * steps[1]]);
    });
  };
  from.scalar_type() == kDouble ? run(double{}) : run(float{});
  return out;
}

// f of each number, which integers are already.
template <class F>
Tensor to_integers(const Tensor& x, F f) {
  return x.is_floating_point() ? function(x, f) : x.clone();
}

// f of each number, in its own type.
template <class F>
Tensor same_type(const Tensor& x, F f) {
  return arithmetic(x, x, x.scalar_type(), [f](auto a, auto) { return static_cast<decltype(a)>(f(a)); });
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

ScalarType promoted(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (a == kDouble || b == kDouble) return kDouble;
    return kFloat;
  }
  if (elementSize(a) != elementSize(b)) return elementSize(a) > elementSize(b) ? a : b;
  return kShort;  // of bytes with a sign and without
}

ScalarType common_type(const Tensor& a, const Tensor& b) {
  const ScalarType left = a.scalar_type(), right = b.scalar_type();
  if (a.dim() == 0 && b.dim() > 0 && category(left) <= category(right)) return right;
  if (b.dim() == 0 && a.dim() > 0 && category(right) <= category(left)) return left;
  return promoted(left, right);
}

ScalarType common_type(const Tensor& a, Scalar b) {
  const ScalarType type = a.scalar_type();
  if (category(b.type()) <= category(type)) return type;
  return b.type() == kDouble ? kFloat : b.type();
}

Dimensions broadcast(IntArrayRef a, IntArrayRef b) {
  Dimensions shape = a.size() >= b.size() ? a : b;
  const IntArrayRef other = a.size() >= b.size() ? b : a;
  const std::size_t more = shape.size() - other.size();
  for (std::size_t d = 0; d < other.size(); ++d) {
    std::int64_t& size = shape[more + d];
    if (size == 1)
      size = other[d];
    else if (other[d] != 1 && other[d] != size)
      fail("[{}] and [{}] do not go together", fmt::join(a.vec(), ", "), fmt::join(b.vec(), ", "));
  }
  return shape;
}

Tensor operator+(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, common_type(a, b), kAdd);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, common_type(a, b), kSubtract);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, common_type(a, b), kMultiply);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, floating(common_type(a, b)), kDivide);
}
Tensor operator+(const Tensor& a, Scalar b) {
  return a + alone(b, common_type(a, b));
}
Tensor operator-(const Tensor& a, Scalar b) {
  return a - alone(b, common_type(a, b));
}
Tensor operator*(const Tensor& a, Scalar b) {
  return a * alone(b, common_type(a, b));
}
Tensor operator/(const Tensor& a, Scalar b) {
  return a / alone(b, floating(common_type(a, b)));
}
Tensor operator+(Scalar a, const Tensor& b) {
  return b + a;
}
Tensor operator-(Scalar a, const Tensor& b) {
  return alone(a, common_type(b, a)) - b;
}
Tensor operator*(Scalar a, const Tensor& b) {
  return b * a;
}
Tensor operator/(Scalar a, const Tensor& b) {
  return alone(a, floating(common_type(b, a))) / b;
}

Tensor Tensor::add(const Tensor& other, Scalar factor) const {
  return *this + scaled(*this, other, factor);
}
Tensor Tensor::mul(const Tensor& other) const {
  return *this * other;
}
Tensor Tensor::mul(Scalar other) const {
  return *this * other;
}

const Tensor& Tensor::add_(const Tensor& other, Scalar factor) const {
  into(*this, *this, scaled(*this, other, factor), common_type(*this, other), kAdd);
  return *this;
}
const Tensor& Tensor::sub_(const Tensor& other, Scalar factor) const {
  into(*this, *this, scaled(*this, other, factor), common_type(*this, other), kSubtract);
  return *this;
}
const Tensor& Tensor::add_(Scalar other) const {
  return add_(alone(other, common_type(*this, other)));
}
const Tensor& Tensor::mul_(const Tensor& other) const {
  into(*this, *this, other, common_type(*this, other), kMultiply);
  return *this;
}
const Tensor& Tensor::mul_(Scalar other) const {
  return mul_(alone(other, common_type(*this, other)));
}
const Tensor& Tensor::div_(const Tensor& other) const {
  into(*this, *this, other, floating(common_type(*this, other)), kDivide);
  return *this;
}
const Tensor& Tensor::div_(Scalar other) const {
  return div_(alone(other, floating(common_type(*this, other))));
}
const Tensor& Tensor::clamp_min_(Scalar least) const {
  return copy_(clamp_min(least));
}

#define ATTEND_COMPARISON(name, op)                                 \
  Tensor Tensor::name(const Tensor& other) const {                  \
    return comparison(*this, other, common_type(*this, other), op); \
  }                                                                 \
  Tensor Tensor::name(Scalar other) const {                         \
    const ScalarType type = common_type(*this, other);              \
    return comparison(*this, alone(other, type), type, op);         \
  }
ATTEND_COMPARISON(eq, kEqual)
ATTEND_COMPARISON(ne, kUnequal)
ATTEND_COMPARISON(lt, kLess)
ATTEND_COMPARISON(le, kLessOrEqual)
ATTEND_COMPARISON(gt, kGreater)
ATTEND_COMPARISON(ge, kGreaterOrEqual)
#undef ATTEND_COMPARISON

Tensor Tensor::logical_and(const Tensor& other) const {
  return comparison(to(kBool), other.to(kBool), kBool, [](auto a, auto b) { return a && b; });
}
Tensor Tensor::logical_or(const Tensor& other) const {
  return comparison(to(kBool), other.to(kBool), kBool, [](auto a, auto b) { return a || b; });
}
Tensor Tensor::logical_not() const {
  return eq(0);
}
Tensor Tensor::isfinite() const {
  return comparison(*this, *this, scalar_type(), [](auto a, auto) {
    if constexpr (std::is_floating_point_v<decltype(a)>)
      return std::isfinite(a);
    else
      return true;
  });
}

Tensor Tensor::neg() const {
  return same_type(*this, [](auto x) { return -x; });
}
Tensor Tensor::abs() const {
  return same_type(*this, [](auto x) {
    return x < decltype(x)(0) ? -x : x == decltype(x)(0) ? decltype(x)(0) : x;
  });
}
Tensor Tensor::square() const {
  return same_type(*this, [](auto x) { return x * x; });
}
Tensor Tensor::sign() const {
  return same_type(*this, [](auto x) { return (x > decltype(x)(0)) - (x < decltype(x)(0)); });
}
Tensor Tensor::floor() const {
  return to_integers(*this, [](auto x) { return std::floor(x); });
}
Tensor Tensor::round() const {
  return to_integers(*this, [](auto x) { return std::nearbyint(x); });
}
Tensor Tensor::exp() const {
  return function(*this, [](auto x) { return std::exp(x); });
}
Tensor Tensor::log() const {
  return function(*this, [](auto x) { return std::log(x); });
}
Tensor Tensor::log2() const {
  return function(*this, [](auto x) { return std::log2(x); });
}
Tensor Tensor::sqrt() const {
  return function(*this, [](auto x) { return std::sqrt(x); });
}

Tensor Tensor::clamp(std::optional<Scalar> least, std::optional<Scalar> most) const {
  ScalarType type = scalar_type();
  if (least) type = promoted(type, common_type(*this, *least));
  if (most) type = promoted(type, common_type(*this, *most));
  return arithmetic(*this, *this, type, [&](auto x, auto) {  // what is not a number stays so
    using T = decltype(x);
    if (least && x < least->to<T>()) x = least->to<T>();
    if (most && x > most->to<T>()) x = most->to<T>();
    return x;
  });
}

Tensor sin(const Tensor& x) {
  return function(x, [](auto v) { return std::sin(v); });
}
Tensor cos(const Tensor& x) {
  return function(x, [](auto v) { return std::cos(v); });
}
Tensor tanh(const Tensor& x) {
  return function(x, [](auto v) { return std::tanh(v); });
}
Tensor sigmoid(const Tensor& x) {
  return function(x, [](auto v) { return sigmoid_of(v); });
}
Tensor relu(const Tensor& x) {
  return x.clamp_min(0);
}
Tensor gelu(const Tensor& x, const std::string& approximate) {
  if (approximate == "tanh")
    return function(x, [](auto v) {
      return v / 2 *
             (1 + std::tanh(decltype(v)(0.7978845608028654) * (v + decltype(v)(0.044715) * v * v * v)));
    });
  return function(x, [](auto v) { return v / 2 * (1 + std::erf(v * decltype(v)(0.7071067811865476))); });
}
Tensor silu(const Tensor& x) {
  return function(x, [](auto v) { return v * sigmoid_of(v); });
}
Tensor mish(const Tensor& x) {
  return function(x, [](auto v) { return v * std::tanh(std::log1p(std::exp(v))); });
}
Tensor leaky_relu(const Tensor& x) {
  return function(x, [](auto v) { return v > 0 ? v : v * decltype(v)(0.01); });
}
Tensor erf(const Tensor& x) {
  return function(x, [](auto v) { return std::erf(v); });
}
Tensor ceil(const Tensor& x) {
  return to_integers(x, [](auto v) { return std::ceil(v); });
}
Tensor rsqrt(const Tensor& x) {
  return function(x, [](auto v) { return 1 / std::sqrt(v); });
}
Tensor exp2(const Tensor& x) {
  return function(x, [](auto v) { return std::exp2(v); });
}
Tensor pow(Scalar base, const Tensor& exponent) {
  return function(exponent, [&](auto v) { return std::pow(base.to<decltype(v)>(), v); });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, common_type(a, b), [](auto x, auto y) { return x != x || x > y ? x : y; });
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, floating(common_type(a, b)), [](auto x, auto y) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      if (x == y) return x + std::log(T(2));
      return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
    } else {
      return x;
    }
  });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const ScalarType type = common_type(a, b);
  const Dimensions shape = broadcast(condition.sizes(), broadcast(a.sizes(), b.sizes()));
  const Tensor out = empty(shape, type), x = a.to(type).expand(shape), y = b.to(type).expand(shape),
               chosen = condition.to(kBool).expand(shape);
  const std::array<Dimensions, 4> strides{out.body().strides, chosen.body().strides, x.body().strides,
                                          y.body().strides};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each_row(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      T* const to = out.data_ptr<T>() + starts[0];
      const bool* const c = chosen.const_data_ptr<bool>() + starts[1];
      const T *const l = x.const_data_ptr<T>() + starts[2], *const r = y.const_data_ptr<T>() + starts[3];
      for (std::int64_t i = 0; i < n; ++i)
        to[i * steps[0]] = c[i * steps[1]] ? l[i * steps[2]] : r[i * steps[3]];
    });
  });
  return out;
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, alone(b, common_type(a, b)));
}

Tensor Tensor::masked_fill(const Tensor& mask, Scalar value) const {
  return where(mask, alone(value, scalar_type()), *this);
}

}  // namespace attend::host
