// Number by number, with broadcasting.
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cmath>

#include <fmt/ranges.h>

namespace attend::ops {
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
    for_each_row_at_once(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
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

namespace {

// make() where the input needs it.
template <class Make>
Tensor wanted_from(bool needs, const Make& make) {
  return needs ? make() : Tensor();
}

Tensor summed(const Tensor& a, const Tensor& b, Scalar factor) {
  return with_rule([&] { return arithmetic(a, scaled(a, b, factor), common_type(a, b), kAdd); },
                   [&](const Tensor&) {
                     return [left = needs_gradient(a), right = needs_gradient(b), factor](const Tensor& g) {
                       return std::vector<Tensor>{
                           wanted_from(left, [&] { return g; }),
                           wanted_from(right, [&] { return factor.to<double>() == 1 ? g : g * factor; })};
                     };
                   },
                   a, b);
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
  return summed(a, b, 1);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return with_rule([&] { return arithmetic(a, b, common_type(a, b), kSubtract); },
                   [&](const Tensor&) {
                     return [left = needs_gradient(a), right = needs_gradient(b)](const Tensor& g) {
                       return std::vector<Tensor>{wanted_from(left, [&] { return g; }),
                                                  wanted_from(right, [&] { return g.neg(); })};
                     };
                   },
                   a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return with_rule([&] { return arithmetic(a, b, common_type(a, b), kMultiply); },
                   [&](const Tensor&) {
                     const bool left = needs_gradient(a), right = needs_gradient(b);
                     return [left, right, x = right ? Saved(a) : Saved(),
                             y = left ? Saved(b) : Saved()](const Tensor& g) {
                       return std::vector<Tensor>{wanted_from(left, [&] { return g * y(); }),
                                                  wanted_from(right, [&] { return g * x(); })};
                     };
                   },
                   a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return with_rule([&] { return arithmetic(a, b, floating(common_type(a, b)), kDivide); },
                   [&](const Tensor&) {
                     const bool left = needs_gradient(a), right = needs_gradient(b);
                     return [left, right, x = right ? Saved(a) : Saved(), y = Saved(b)](const Tensor& g) {
                       return std::vector<Tensor>{
                           wanted_from(left, [&] { return g / y(); }),
                           wanted_from(right, [&] { return (g * x() / (y() * y())).neg(); })};
                     };
                   },
                   a, b);
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
  return summed(*this, other, factor);
}
Tensor Tensor::mul(const Tensor& other) const {
  return *this * other;
}
Tensor Tensor::mul(Scalar other) const {
  return *this * other;
}
Tensor Tensor::lerp(const Tensor& other, Scalar share) const {
  return *this + (other - *this) * share;
}

const Tensor& Tensor::add_(const Tensor& other, Scalar factor) const {
  return in_place(
      *this, [&] { into(*this, *this, scaled(*this, other, factor), common_type(*this, other), kAdd); },
      [&] {
        return [factor](const Tensor& g) {
          return std::vector<Tensor>{g, factor.to<double>() == 1 ? g : g * factor};
        };
      },
      other);
}
const Tensor& Tensor::sub_(const Tensor& other, Scalar factor) const {
  return in_place(
      *this, [&] { into(*this, *this, scaled(*this, other, factor), common_type(*this, other), kSubtract); },
      [&] { return [factor](const Tensor& g) {
              return std::vector<Tensor>{g, g * -factor.to<double>()};
            }; },
      other);
}
const Tensor& Tensor::add_(Scalar other) const {
  return add_(alone(other, common_type(*this, other)));
}
const Tensor& Tensor::sub_(Scalar other) const {
  return sub_(alone(other, common_type(*this, other)));
}
// What is written over is what the gradient of the other needs: a copy is kept then.
const Tensor& Tensor::mul_(const Tensor& other) const {
  if (tracked(*this, other)) return copy_((needs_gradient(other) ? clone() : *this) * other);
  into(*this, *this, other, common_type(*this, other), kMultiply);
  bump_version();
  return *this;
}
const Tensor& Tensor::mul_(Scalar other) const {
  return mul_(alone(other, common_type(*this, other)));
}
const Tensor& Tensor::div_(const Tensor& other) const {
  if (tracked(*this, other)) return copy_((needs_gradient(other) ? clone() : *this) / other);
  into(*this, *this, other, floating(common_type(*this, other)), kDivide);
  bump_version();
  return *this;
}
const Tensor& Tensor::div_(Scalar other) const {
  return div_(alone(other, floating(common_type(*this, other))));
}
const Tensor& Tensor::lerp_(const Tensor& other, Scalar share) const {
  return add_((other - *this) * share);
}
const Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, Scalar factor) const {
  return add_(a * b * factor);
}
const Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, Scalar factor) const {
  return add_(a / b * factor);
}
const Tensor& Tensor::rsqrt_() const {
  return copy_(rsqrt());
}
const Tensor& Tensor::sign_() const {
  return copy_(sign());
}
const Tensor& Tensor::clamp_min_(Scalar least) const {
  return copy_((tracked(*this) ? clone() : *this).clamp_min(least));
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

namespace {

// A function of each number, whose gradient is g times slope(x).
template <class Compute, class Slope>
Tensor differentiable(const Tensor& x, const Compute& compute, const Slope& slope) {
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [x = Saved(x), slope](const Tensor& g) { return std::vector<Tensor>{g * slope(x())}; };
      },
      x);
}

// The same with the slope as a function of numbers. What only one of the two needs the other is not kept for.
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

// What has steps and no slopes.
template <class Compute>
Tensor flat(const Tensor& x, const Compute& compute) {
  return with_rule(
      compute,
      [](const Tensor&) { return [](const Tensor& g) { return std::vector<Tensor>{zeros_like(g)}; }; }, x);
}

// Of the approximation by tanh.
template <class T>
T inner_of_gelu(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}
template <class T>
T normal_density(T x) {
  return T(0.3989422804014327) * std::exp(x * x / -2);
}
template <class T>
T normal_share(T x) {
  return (1 + std::erf(x * T(0.7071067811865476))) / 2;
}

}  // namespace

Tensor Tensor::bitwise_and(Scalar mask) const {
  const Tensor bits = to(kLong);
  return arithmetic(bits, alone(mask, kLong), kLong,
                    [](auto a, auto b) {
                      if constexpr (std::is_same_v<decltype(a), std::int64_t>) return a & b;
                      return a;
                    })
      .to(scalar_type());
}
Tensor Tensor::bitwise_right_shift(Scalar by) const {
  const Tensor bits = to(kLong);
  return arithmetic(bits, alone(by, kLong), kLong,
                    [](auto a, auto b) {
                      if constexpr (std::is_same_v<decltype(a), std::int64_t>) return a >> b;
                      return a;
                    })
      .to(scalar_type());
}
Tensor Tensor::remainder(Scalar by) const {
  const ScalarType type = common_type(*this, by);
  return flat(*this, [&] {
    return arithmetic(*this, alone(by, type), type, [](auto a, auto b) {
      using T = decltype(a);
      if constexpr (std::is_floating_point_v<T>) {
        const T rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      } else if constexpr (std::is_same_v<T, bool>) {
        return false;
      } else {
        const auto rest = static_cast<T>(a % b);
        return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
      }
    });
  });
}
Tensor Tensor::neg() const {
  return with_rule([&] { return same_type(*this, [](auto x) { return -x; }); },
                   [](const Tensor&) { return [](const Tensor& g) { return std::vector<Tensor>{g.neg()}; }; },
                   *this);
}
Tensor Tensor::abs() const {
  return differentiable(
      *this,
      [&] {
        return same_type(*this, [](auto x) {
          return x < decltype(x)(0) ? -x : x == decltype(x)(0) ? decltype(x)(0) : x;
        });
      },
      [](const Tensor& x) { return x.sign(); });
}
Tensor Tensor::square() const {
  return differentiable(
      *this, [&] { return same_type(*this, [](auto x) { return x * x; }); },
      [](const Tensor& x) { return x * 2; });
}
Tensor Tensor::sign() const {
  return flat(*this, [&] {
    return same_type(*this, [](auto x) { return (x > decltype(x)(0)) - (x < decltype(x)(0)); });
  });
}
Tensor Tensor::floor() const {
  return flat(*this, [&] { return to_integers(*this, [](auto x) { return std::floor(x); }); });
}
Tensor Tensor::round() const {
  return flat(*this, [&] { return to_integers(*this, [](auto x) { return std::nearbyint(x); }); });
}
Tensor Tensor::exp() const {
  return with_rule([&] { return function(*this, [](auto x) { return std::exp(x); }); },
                   [&](const Tensor& y) {
                     return [y = Saved::result(y)](const Tensor& g) { return std::vector<Tensor>{g * y()}; };
                   },
                   *this);
}
Tensor Tensor::log() const {
  return of_input(
      *this, [](auto x) { return std::log(x); }, [](auto x) { return 1 / x; });
}
Tensor Tensor::log2() const {
  return of_input(
      *this, [](auto x) { return std::log2(x); }, [](auto x) { return decltype(x)(1.4426950408889634) / x; });
}
Tensor Tensor::sqrt() const {
  return of_result(
      *this, [](auto x) { return std::sqrt(x); }, [](auto y) { return 1 / (2 * y); });
}
Tensor Tensor::rsqrt() const {
  return of_result(
      *this, [](auto x) { return 1 / std::sqrt(x); }, [](auto y) { return y * y * y / -2; });
}

Tensor Tensor::clamp(std::optional<Scalar> least, std::optional<Scalar> most) const {
  ScalarType type = scalar_type();
  if (least) type = promoted(type, common_type(*this, *least));
  if (most) type = promoted(type, common_type(*this, *most));
  return differentiable(
      *this,
      [&] {
        return arithmetic(*this, *this, type, [&](auto x, auto) {  // what is not a number stays so
          using T = decltype(x);
          if (least && x < least->to<T>()) x = least->to<T>();
          if (most && x > most->to<T>()) x = most->to<T>();
          return x;
        });
      },
      [least, most](const Tensor& x) {
        Tensor inside = ones_like(x);
        if (least) inside = inside * x.ge(*least);
        if (most) inside = inside * x.le(*most);
        return inside;
      });
}

Tensor sin(const Tensor& x) {
  return of_input(
      x, [](auto v) { return std::sin(v); }, [](auto v) { return std::cos(v); });
}
Tensor cos(const Tensor& x) {
  return of_input(
      x, [](auto v) { return std::cos(v); }, [](auto v) { return -std::sin(v); });
}
Tensor tanh(const Tensor& x) {
  return of_result(
      x, [](auto v) { return std::tanh(v); }, [](auto y) { return 1 - y * y; });
}
Tensor sigmoid(const Tensor& x) {
  return of_result(
      x, [](auto v) { return sigmoid_of(v); }, [](auto y) { return y * (1 - y); });
}
Tensor Tensor::sigmoid() const {
  return ops::sigmoid(*this);
}
Tensor relu(const Tensor& x) {
  return with_rule([&] { return x.clamp_min(0); },
                   [&](const Tensor& y) {
                     return [y = Saved::result(y)](const Tensor& g) {
                       return std::vector<Tensor>{g * y().gt(0)};
                     };
                   },
                   x);
}
Tensor gelu(const Tensor& x, const std::string& approximate) {
  if (approximate == "tanh") {
    return of_input(
        x, [](auto v) { return v / 2 * (1 + std::tanh(inner_of_gelu(v))); },
        [](auto v) {
          using T = decltype(v);
          const T t = std::tanh(inner_of_gelu(v));
          return (1 + t) / 2 + v / 2 * (1 - t * t) * T(0.7978845608028654) * (1 + 3 * T(0.044715) * v * v);
        });
  }
  return of_input(
      x, [](auto v) { return v / 2 * (1 + std::erf(v * decltype(v)(0.7071067811865476))); },
      [](auto v) { return normal_share(v) + v * normal_density(v); });
}
Tensor silu(const Tensor& x) {
  return of_input(
      x, [](auto v) { return v * sigmoid_of(v); },
      [](auto v) { return sigmoid_of(v) * (1 + v * (1 - sigmoid_of(v))); });
}
Tensor mish(const Tensor& x) {
  return of_input(
      x, [](auto v) { return v * std::tanh(std::log1p(std::exp(v))); },
      [](auto v) {
        const auto t = std::tanh(std::log1p(std::exp(v)));
        return t + v * (1 - t * t) * sigmoid_of(v);
      });
}
Tensor leaky_relu(const Tensor& x) {
  return of_input(
      x, [](auto v) { return v > 0 ? v : v * decltype(v)(0.01); },
      [](auto v) { return v > 0 ? decltype(v)(1) : decltype(v)(0.01); });
}
Tensor erf(const Tensor& x) {
  return of_input(
      x, [](auto v) { return std::erf(v); },
      [](auto v) { return decltype(v)(1.1283791670955126) * std::exp(-v * v); });
}
Tensor ceil(const Tensor& x) {
  return flat(x, [&] { return to_integers(x, [](auto v) { return std::ceil(v); }); });
}
Tensor exp2(const Tensor& x) {
  return of_result(
      x, [](auto v) { return std::exp2(v); }, [](auto y) { return y * decltype(y)(0.6931471805599453); });
}
Tensor pow(Scalar base, const Tensor& exponent) {
  return of_result(
      exponent, [&](auto v) { return std::pow(base.to<decltype(v)>(), v); },
      [rate = std::log(base.to<double>())](auto y) { return y * static_cast<decltype(y)>(rate); });
}
Tensor special_entr(const Tensor& x) {
  return of_input(
      x,
      [](auto v) {
        using T = decltype(v);
        return v > 0 ? -v * std::log(v) : v == 0 ? T(0) : v != v ? v : -std::numeric_limits<T>::infinity();
      },
      [](auto v) { return -std::log(v) - 1; });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return with_rule(
      [&] {
        return arithmetic(a, b, common_type(a, b), [](auto x, auto y) { return x != x || x > y ? x : y; });
      },
      [&](const Tensor&) {
        return [a = Saved(a), b = Saved(b)](const Tensor& g) {  // of equals each has half
          const Tensor half = g * a().eq(b()) / 2;
          return std::vector<Tensor>{g * a().gt(b()) + half, g * a().lt(b()) + half};
        };
      },
      a, b);
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
  const auto compute = [&] {
    return arithmetic(a, b, floating(common_type(a, b)), [](auto x, auto y) {
      using T = decltype(x);
      if constexpr (std::is_floating_point_v<T>) {
        if (x == y) return x + std::log(T(2));
        return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
      } else {
        return x;
      }
    });
  };
  return with_rule(
      compute,
      [&](const Tensor& y) {
        return [a = Saved(a), b = Saved(b), y = Saved::result(y)](const Tensor& g) {
          return std::vector<Tensor>{g * (a() - y()).exp(), g * (b() - y()).exp()};
        };
      },
      a, b);
}

namespace {

Tensor chosen_from(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const ScalarType type = common_type(a, b);
  const Dimensions shape = broadcast(condition.sizes(), broadcast(a.sizes(), b.sizes()));
  const Tensor out = empty(shape, type), x = a.to(type).expand(shape), y = b.to(type).expand(shape),
               chosen = condition.to(kBool).expand(shape);
  const std::array<Dimensions, 4> strides{out.body().strides, chosen.body().strides, x.body().strides,
                                          y.body().strides};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each_row_at_once(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      T* const to = out.data_ptr<T>() + starts[0];
      const bool* const c = chosen.const_data_ptr<bool>() + starts[1];
      const T *const l = x.const_data_ptr<T>() + starts[2], *const r = y.const_data_ptr<T>() + starts[3];
      for (std::int64_t i = 0; i < n; ++i)
        to[i * steps[0]] = c[i * steps[1]] ? l[i * steps[2]] : r[i * steps[3]];
    });
  });
  return out;
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return with_rule(
      [&] { return chosen_from(condition, a, b); },
      [&](const Tensor&) {
        return [left = needs_gradient(a), right = needs_gradient(b), c = Saved(condition)](const Tensor& g) {
          const Tensor none = scalar_tensor(0, g.options());
          return std::vector<Tensor>{wanted_from(left, [&] { return chosen_from(c(), g, none); }),
                                     wanted_from(right, [&] { return chosen_from(c(), none, g); })};
        };
      },
      a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, alone(b, common_type(a, b)));
}

Tensor Tensor::masked_fill(const Tensor& mask, Scalar value) const {
  return where(mask, alone(value, scalar_type()), *this);
}

}  // namespace attend::ops
