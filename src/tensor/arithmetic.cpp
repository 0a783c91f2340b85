// Element-wise arithmetic, comparisons and selection, with broadcasting.
#include "tensor/loops.h"

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

int category(ScalarType type) {
  return type == kBool ? 0 : is_floating(type) ? 2 : 1;
}

}  // namespace

ScalarType promoted(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (a == kDouble || b == kDouble) return kDouble;
    return kFloat;
  }
  if (bytes_of(a) != bytes_of(b)) return bytes_of(a) > bytes_of(b) ? a : b;
  return kShort;  // int8 with uint8
}

ScalarType common_type(const Tensor& a, const Tensor& b) {
  const ScalarType left = a.type(), right = b.type();
  if (a.dim() == 0 && b.dim() > 0 && category(left) <= category(right)) return right;
  if (b.dim() == 0 && a.dim() > 0 && category(right) <= category(left)) return left;
  return promoted(left, right);
}

ScalarType common_type(const Tensor& a, Scalar b) {
  const ScalarType type = a.type();
  if (category(b.type()) <= category(type)) return type;
  return b.type() == kDouble ? kFloat : b.type();
}

Dimensions broadcast(const Dimensions& a, const Dimensions& b) {
  Dimensions shape = a.size() >= b.size() ? a : b;
  const Dimensions other = a.size() >= b.size() ? b : a;
  const std::size_t more = shape.size() - other.size();
  for (std::size_t d = 0; d < other.size(); ++d) {
    std::int64_t& size = shape[more + d];
    if (size == 1)
      size = other[d];
    else if (other[d] != 1 && other[d] != size)
      fail("the shapes [{}] and [{}] cannot be broadcast together", fmt::join(a.vec(), ", "),
           fmt::join(b.vec(), ", "));
  }
  return shape;
}

namespace {

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
// The gradient of `other` needs the values that are overwritten here, so they are copied first.
const Tensor& Tensor::mul_(const Tensor& other) const {
  if (tracked(*this, other)) return copy_((ops::needs_gradient(other) ? clone() : *this) * other);
  into(*this, *this, other, common_type(*this, other), kMultiply);
  bump_version();
  return *this;
}
const Tensor& Tensor::mul_(Scalar other) const {
  return mul_(alone(other, common_type(*this, other)));
}
const Tensor& Tensor::div_(const Tensor& other) const {
  if (tracked(*this, other)) return copy_((ops::needs_gradient(other) ? clone() : *this) / other);
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
const Tensor& Tensor::clamp_min_(Scalar min) const {
  return copy_((tracked(*this) ? clone() : *this).clamp_min(min));
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
  return comparison(*this, *this, type(), [](auto a, auto) { return math::isfinite(a); });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return with_rule(
      [&] {
        return arithmetic(a, b, common_type(a, b),
                          [](auto x, auto y) { return choose(x != x || x > y, x, y); });
      },
      [&](const Tensor&) {
        return [a = Saved(a), b = Saved(b)](const Tensor& g) {  // equal elements get half of the gradient
                                                                // each
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
      if constexpr (std::is_integral_v<T>)
        return x;  // never called
      else
        return choose(x == y, x + T(0.6931471805599453),
                      choose(x > y, x, y) + math::log1p(math::exp(-math::abs(x - y))));
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
  if (Device* const device = device_of(condition, a, b)) {
    const Tensor made = empty(shape, type, device);
    if (made.numel() > 0)
      device->choose(array_of(made), array_of(placed_on(*device, condition.to(kBool))),
                     array_of(operand_on(*device, a.to(type))), array_of(operand_on(*device, b.to(type))));
    return made;
  }
  const Tensor out = empty(shape, type), x = a.to(type).expand(shape), y = b.to(type).expand(shape),
               chosen = condition.to(kBool).expand(shape);
  const std::array<Dimensions, 4> strides{out.body().strides, chosen.body().strides, x.body().strides,
                                          y.body().strides};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each_row_at_once(out.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      T* const to = out.data<T>() + starts[0];
      const bool* const c = chosen.const_data<bool>() + starts[1];
      const T *const l = x.const_data<T>() + starts[2], *const r = y.const_data<T>() + starts[3];
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
          const Tensor none = scalar_tensor(0, g.type());
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
  return where(mask, alone(value, type()), *this);
}

}  // namespace attend::ops
