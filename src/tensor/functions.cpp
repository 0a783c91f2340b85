// Element-wise functions.
#include "tensor/loops.h"

namespace attend::ops {
namespace {

// The argument of tanh in the tanh approximation of GELU.
template <class T>
T inner_of_gelu(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}
template <class T>
T normal_density(T x) {
  return T(0.3989422804014327) * math::exp(x * x / -2);
}
template <class T>
T normal_share(T x) {
  return (1 + math::erf(x * T(0.7071067811865476))) / 2;
}

}  // namespace

Tensor Tensor::bitwise_and(Scalar mask) const {
  const Tensor bits = to(kLong);
  return arithmetic(bits, alone(mask, kLong), kLong,
                    [](auto a, auto b) {
                      if constexpr (requires { a& b; })
                        return static_cast<decltype(a)>(a & b);
                      else
                        return a;
                    })
      .to(type());
}
Tensor Tensor::bitwise_right_shift(Scalar by) const {
  const Tensor bits = to(kLong);
  return arithmetic(bits, alone(by, kLong), kLong,
                    [](auto a, auto b) {
                      if constexpr (requires { a >> b; })
                        return static_cast<decltype(a)>(a >> b);
                      else
                        return a;
                    })
      .to(type());
}
Tensor Tensor::remainder(Scalar by) const {
  const ScalarType type = common_type(*this, by);
  return flat(*this, [&] {
    return arithmetic(*this, alone(by, type), type, [](auto a, auto b) {
      using T = decltype(a);
      if constexpr (std::is_same_v<T, Element>) {
        return modulo(a, b);
      } else if constexpr (std::is_floating_point_v<T>) {
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
          using T = decltype(x);
          return choose(x < T(0), static_cast<T>(-x), choose(x == T(0), T(0), x));
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
    return same_type(*this, [](auto x) {
      using T = decltype(x);
      return choose(x > T(0), T(1), choose(x < T(0), static_cast<T>(-1), T(0)));
    });
  });
}
Tensor Tensor::floor() const {
  return flat(*this, [&] { return to_integers(*this, [](auto x) { return math::floor(x); }); });
}
Tensor Tensor::round() const {
  return flat(*this, [&] { return to_integers(*this, [](auto x) { return math::nearbyint(x); }); });
}
Tensor Tensor::exp() const {
  return with_rule([&] { return function(*this, [](auto x) { return math::exp(x); }); },
                   [&](const Tensor& y) {
                     return [y = Saved::result(y)](const Tensor& g) { return std::vector<Tensor>{g * y()}; };
                   },
                   *this);
}
Tensor Tensor::log() const {
  return of_input(
      *this, [](auto x) { return math::log(x); }, [](auto x) { return 1 / x; });
}
Tensor Tensor::log2() const {
  return of_input(
      *this, [](auto x) { return math::log2(x); },
      [](auto x) { return decltype(x)(1.4426950408889634) / x; });
}
Tensor Tensor::sqrt() const {
  return of_result(
      *this, [](auto x) { return math::sqrt(x); }, [](auto y) { return 1 / (2 * y); });
}
Tensor Tensor::rsqrt() const {
  return of_result(
      *this, [](auto x) { return 1 / math::sqrt(x); }, [](auto y) { return y * y * y / -2; });
}

Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  ScalarType type = body().type;
  if (min) type = promoted(type, common_type(*this, *min));
  if (max) type = promoted(type, common_type(*this, *max));
  return differentiable(
      *this,
      [&] {
        return arithmetic(*this, *this, type, [&](auto x, auto) {  // NaN stays NaN
          using T = decltype(x);
          if (min) x = choose(x < min->to<T>(), min->to<T>(), x);
          if (max) x = choose(x > max->to<T>(), max->to<T>(), x);
          return x;
        });
      },
      [min, max](const Tensor& x) {
        Tensor inside = ones_like(x);
        if (min) inside = inside * x.ge(*min);
        if (max) inside = inside * x.le(*max);
        return inside;
      });
}

Tensor sin(const Tensor& x) {
  return of_input(
      x, [](auto v) { return math::sin(v); }, [](auto v) { return math::cos(v); });
}
Tensor cos(const Tensor& x) {
  return of_input(
      x, [](auto v) { return math::cos(v); }, [](auto v) { return -math::sin(v); });
}
Tensor tanh(const Tensor& x) {
  return of_result(
      x, [](auto v) { return math::tanh(v); }, [](auto y) { return 1 - y * y; });
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
  const bool tanh = approximate == "tanh";
  if (x.device() != nullptr) return fused({tanh ? Fused::gelu_tanh : Fused::gelu}, x.sizes(), {x});
  if (tanh) {
    return of_input(
        x, [](auto v) { return v / 2 * (1 + math::tanh(inner_of_gelu(v))); },
        [](auto v) {
          using T = decltype(v);
          const T t = math::tanh(inner_of_gelu(v));
          return (1 + t) / 2 + v / 2 * (1 - t * t) * T(0.7978845608028654) * (1 + 3 * T(0.044715) * v * v);
        });
  }
  return of_input(
      x, [](auto v) { return v / 2 * (1 + math::erf(v * decltype(v)(0.7071067811865476))); },
      [](auto v) { return normal_share(v) + v * normal_density(v); });
}
Tensor silu(const Tensor& x) {
  if (x.device() != nullptr) return fused({Fused::silu}, x.sizes(), {x});
  return of_input(
      x, [](auto v) { return v * sigmoid_of(v); },
      [](auto v) { return sigmoid_of(v) * (1 + v * (1 - sigmoid_of(v))); });
}
Tensor mish(const Tensor& x) {
  return of_input(
      x, [](auto v) { return v * math::tanh(math::log1p(math::exp(v))); },
      [](auto v) {
        const auto t = math::tanh(math::log1p(math::exp(v)));
        return t + v * (1 - t * t) * sigmoid_of(v);
      });
}
Tensor leaky_relu(const Tensor& x) {
  return of_input(
      x, [](auto v) { return choose(v > 0, v, v * decltype(v)(0.01)); },
      [](auto v) { return choose(v > 0, decltype(v)(1), decltype(v)(0.01)); });
}
Tensor erf(const Tensor& x) {
  return of_input(
      x, [](auto v) { return math::erf(v); },
      [](auto v) { return decltype(v)(1.1283791670955126) * math::exp(-v * v); });
}
Tensor ceil(const Tensor& x) {
  return flat(x, [&] { return to_integers(x, [](auto v) { return math::ceil(v); }); });
}
Tensor exp2(const Tensor& x) {
  return of_result(
      x, [](auto v) { return math::exp2(v); }, [](auto y) { return y * decltype(y)(0.6931471805599453); });
}
Tensor pow(Scalar base, const Tensor& exponent) {
  return of_result(
      exponent, [&](auto v) { return math::pow(base.to<decltype(v)>(), v); },
      [rate = math::log(base.to<double>())](auto y) { return y * static_cast<decltype(y)>(rate); });
}
Tensor entropy_terms(const Tensor& x) {
  return of_input(
      x,
      [](auto v) {
        using T = decltype(v);
        constexpr double lowest = -std::numeric_limits<double>::infinity();
        return choose(v > 0, -v * math::log(v), choose(v == 0, T(0), choose(v != v, v, T(lowest))));
      },
      [](auto v) { return -math::log(v) - 1; });
}

}  // namespace attend::ops
