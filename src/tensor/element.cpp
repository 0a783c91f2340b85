#include "tensor/element.h"

#include "tensor/device.h"
#include "tensor/walk.h"

namespace attend::ops {
namespace {

bool gives_booleans(BinaryOperation operation) {
  return operation >= BinaryOperation::equal;
}

double on_constants(BinaryOperation operation, double a, double b) {
  if (operation == BinaryOperation::add) return a + b;
  if (operation == BinaryOperation::subtract) return a - b;
  if (operation == BinaryOperation::multiply) return a * b;
  if (operation == BinaryOperation::divide) return a / b;
  fail("a function of an element computes with two constants in a way that is not supported");
}

Element computed(BinaryOperation operation, const Element& a, const Element& b) {
  if (a.is_constant() && b.is_constant()) return on_constants(operation, a.constant(), b.constant());
  const Tensor& known = a.is_constant() ? b.all : a.all;
  const auto tensor_of = [&](const Element& x) {
    return x.is_constant() ? scalar_tensor(x.constant(), known.type()) : x.all;
  };
  const Tensor x = tensor_of(a), y = tensor_of(b);
  Device& device = *device_of(x, y);
  const Tensor to =
      empty(broadcast(x.sizes(), y.sizes()), gives_booleans(operation) ? kBool : known.type(), &device);
  if (to.numel() > 0)
    device.binary(operation, array_of(to), array_of(operand_on(device, x)), array_of(operand_on(device, y)));
  return Element(to);
}

Element computed(UnaryOperation operation, const Element& x, ScalarType type) {
  const Tensor to = empty(x.all.sizes(), type, x.all.device());
  if (to.numel() > 0) to.device()->unary(operation, array_of(to), array_of(x.all));
  return Element(to);
}

Element computed(UnaryOperation operation, const Element& x) {
  return computed(operation, x, x.all.type());
}

}  // namespace

#define ATTEND_BINARY(sign, name)                             \
  Element operator sign(const Element& a, const Element& b) { \
    return computed(BinaryOperation::name, a, b);             \
  }
ATTEND_BINARY(+, add)
ATTEND_BINARY(-, subtract)
ATTEND_BINARY(*, multiply)
ATTEND_BINARY(/, divide)
ATTEND_BINARY(==, equal)
ATTEND_BINARY(!=, unequal)
ATTEND_BINARY(<, less)
ATTEND_BINARY(<=, less_or_equal)
ATTEND_BINARY(>, greater)
ATTEND_BINARY(>=, greater_or_equal)
ATTEND_BINARY(&&, both)
ATTEND_BINARY(||, either)
ATTEND_BINARY(&, bits_and)
ATTEND_BINARY(>>, shift_right)
#undef ATTEND_BINARY

Element modulo(const Element& a, const Element& b) {
  return computed(BinaryOperation::remainder, a, b);
}

Element operator-(const Element& x) {
  if (x.is_constant()) return -x.constant();
  return x * Element(-1);
}

Element choose(const Element& condition, const Element& a, const Element& b) {
  const Tensor& known = a.is_constant() ? b.all : a.all;
  Device& device = *condition.all.device();
  const auto tensor_of = [&](const Element& x) {
    return x.is_constant() ? scalar_tensor(x.constant(), known.defined() ? known.type() : kDouble)
                           : operand_on(device, x.all);
  };
  const Tensor x = tensor_of(a), y = tensor_of(b);
  const Tensor to =
      empty(broadcast(condition.all.sizes(), broadcast(x.sizes(), y.sizes())), x.type(), &device);
  if (to.numel() > 0) device.choose(array_of(to), array_of(condition.all), array_of(x), array_of(y));
  return Element(to);
}

namespace math {

#define ATTEND_UNARY(name, operation)              \
  Element name(const Element& x) {                 \
    return computed(UnaryOperation::operation, x); \
  }
ATTEND_UNARY(abs, abs)
ATTEND_UNARY(ceil, ceil)
ATTEND_UNARY(cos, cos)
ATTEND_UNARY(erf, erf)
ATTEND_UNARY(exp, exp)
ATTEND_UNARY(exp2, exp2)
ATTEND_UNARY(floor, floor)
ATTEND_UNARY(log, log)
ATTEND_UNARY(log1p, log1p)
ATTEND_UNARY(log2, log2)
ATTEND_UNARY(nearbyint, round)
ATTEND_UNARY(sin, sin)
ATTEND_UNARY(sqrt, sqrt)
ATTEND_UNARY(tanh, tanh)
#undef ATTEND_UNARY

Element isfinite(const Element& x) {
  return computed(UnaryOperation::isfinite, x, kBool);
}
Element pow(const Element& base, const Element& exponent) {
  return computed(BinaryOperation::power, base, exponent);
}

}  // namespace math
}  // namespace attend::ops
