#include "formats/jinja/operators.h"

#include "base/error.h"
#include "base/utf8.h"
#include "formats/jinja/methods.h"

#include <algorithm>
#include <cmath>

namespace attend::jinja {
namespace {

[[noreturn]] void fail_operands(std::string_view sign, const Value& left, const Value& right) {
  for (const Value* side : {&left, &right})
    if (side->is_undefined()) fail("{}", side->undefined().message);
  if (sign == "+" && left.is_string()) fail("can only concatenate str (not \"{}\") to str", right.type());
  fail("unsupported operand type(s) for {}: '{}' and '{}'", sign, left.type(), right.type());
}

Integer integer_power(Integer base, Integer exponent) {
  Integer result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = Value(result * base).to_large_integer();  // limits the size
    if (exponent > 1) base = Value(base * base).to_large_integer();
  }
  return result;
}

Value compute_integers(std::string_view sign, const Integer& left, const Integer& right) {
  if (sign == "+") return Integer(left + right);
  if (sign == "-") return Integer(left - right);
  if (sign == "*") return Integer(left * right);
  if (sign == "**") return integer_power(left, right);
  if (right == 0) fail("division by zero");
  Integer quotient, rest;  // rounded down, with the sign of the divisor
  divide_qr(left, right, quotient, rest);
  if (rest != 0 && (rest < 0) != (right < 0)) {
    --quotient;
    rest += right;
  }
  return sign == "%" ? rest : quotient;
}

Value compute_numbers(std::string_view sign, const Value& left, const Value& right) {
  const bool real = left.is(Value::Kind::real) || right.is(Value::Kind::real) || sign == "/" ||
                    (sign == "**" && right.to_large_integer() < 0);
  if (!real) return compute_integers(sign, left.to_large_integer(), right.to_large_integer());
  const double a = left.to_number(), b = right.to_number();
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "**") {
    if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
    const double power = std::pow(a, b);
    if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(power))
      fail("expected a power that is a float, found {} ** {}", to_repr(left), to_repr(right));
    return power;
  }
  if (b == 0) fail("division by zero");
  if (sign == "/") return a / b;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (sign == "%") return rest;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value repeated(const Value& whole, std::int64_t count) {
  const std::size_t times = count > 0 ? static_cast<std::size_t>(count) : 0;
  if (whole.is_string()) {
    std::string text;
    text.reserve(checked_product(whole.text().size(), times));
    if (!whole.text().empty())
      for (std::size_t i = 0; i < times; ++i) text += whole.text();
    return text;
  }
  List items;
  checked_product(whole.items().size(), times);
  if (!whole.items().empty())
    for (std::size_t i = 0; i < times; ++i)
      items.insert(items.end(), whole.items().begin(), whole.items().end());
  return Value::sequence(std::move(items), whole.sequence().form);
}

// The result of Python's slice.indices().
struct Range {
  std::int64_t begin, end, step;
};

Range range_of(std::int64_t size, const Value& begin, const Value& end, const Value& step) {
  Range range{0, size, step.is_none() ? 1 : step.to_integer()};
  if (range.step == 0) fail("slice step cannot be zero");
  const std::int64_t low = range.step < 0 ? -1 : 0, high = range.step < 0 ? size - 1 : size;
  const auto limited = [&](const Value& value, std::int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const std::int64_t at = value.to_integer();
    return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, low, high);
  };
  range.begin = limited(begin, range.step < 0 ? high : low);
  range.end = limited(end, range.step < 0 ? low : high);
  range.step = std::clamp(range.step, -size - 1, size + 1);
  return range;
}

}  // namespace

Value compute(std::string_view sign, const Value& left, const Value& right) {
  if (sign == "~") {
    std::string text = to_text(left) + to_text(right);
    check_size(text.size());
    return text;
  }
  if (left.is_number() && right.is_number()) return compute_numbers(sign, left, right);
  if (sign == "%" && left.is_string()) return format_percent(left.text(), right);
  const auto repeats = [](const Value& value) { return value.is_string() || value.is_list_or_tuple(); };
  const auto counts = [](const Value& value) { return value.is_number() && !value.is(Value::Kind::real); };
  if (sign == "*" && repeats(left) && counts(right)) return repeated(left, right.to_integer());
  if (sign == "*" && repeats(right) && counts(left)) return repeated(right, left.to_integer());
  if (sign == "+" && left.is_string() && right.is_string()) {
    check_size(left.text().size() + right.text().size());
    if (!left.is_markup() && !right.is_markup()) return left.text() + right.text();
    const auto as_markup = [](const Value& side) {
      return side.is_markup() ? side.text() : escaped(side.text());
    };
    return Value::markup(as_markup(left) + as_markup(right));
  }
  if (sign == "+" && left.is_list_or_tuple() && right.is_list_or_tuple() &&
      left.sequence().form == right.sequence().form) {
    List items = left.items();
    check_size(items.size() + right.items().size());
    items.insert(items.end(), right.items().begin(), right.items().end());
    return Value::sequence(std::move(items), left.sequence().form);
  }
  fail_operands(sign, left, right);
}

Value negative(const Value& value) {
  return value.is(Value::Kind::real) ? Value(-value.to_number())
                                     : compute_numbers("-", std::int64_t{0}, value);
}

bool compare(std::string_view sign, const Value& left, const Value& right) {
  if (sign == "==") return equal(left, right);
  if (sign == "!=") return !equal(left, right);
  if (sign == "in") return contains(right, left);
  if (sign == "not in") return !contains(right, left);
  if (sign == "<") return less(left, right);
  if (sign == ">") return less(right, left);
  return equal(left, right) || (sign == "<=" ? less(left, right) : less(right, left));
}

Value attribute_of(const Value& value, const std::string& name) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (value.is(Value::Kind::object))
    if (std::optional<Value> found = value.object()->attribute(name)) return *found;
  if (std::optional<Value> found = method_of(value, name)) return *found;
  if (value.is(Value::Kind::dict))
    if (const Value* found = find(value.dict(), name)) return *found;
  if (value.is(Value::Kind::sequence) && value.sequence().is_group && (name == "grouper" || name == "list"))
    return value.items()[name == "list" ? 1 : 0];
  const std::string type = value.is_none() ? "None" : value.type() + " object";
  return Undefined{fmt::format("'{}' has no attribute '{}'", type, name)};
}

Value item_of(const Value& value, const Value& key) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (value.is(Value::Kind::dict)) {
    if (const Value* found = find(value.dict(), key)) return *found;
  } else if ((value.is_list_or_tuple() || value.is_string()) && key.is_integral()) {
    const std::size_t size = length_of(value);
    Integer place = key.to_large_integer();
    if (place < 0) place += size;
    if (place >= 0 && place < size) {
      const auto at = static_cast<std::size_t>(place);
      if (!value.is_string()) return value.items()[at];
      std::string character;
      append_utf8(character, decode_utf8(value.text())[at]);
      return character;
    }
  }
  if (key.is_string()) return attribute_of(value, key.text());
  return Undefined{
      fmt::format("{} has no element {}", value.is_none() ? "None" : value.type() + " object", to_repr(key))};
}

Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (!value.is_string() && !value.is_list_or_tuple()) fail("'{}' object cannot be sliced", value.type());
  const std::u32string characters = value.is_string() ? decode_utf8(value.text()) : U"";
  const auto size = static_cast<std::int64_t>(value.is_string() ? characters.size() : value.items().size());
  const Range range = range_of(size, begin, end, step);
  std::string text;
  List items;
  for (std::int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end; i += range.step) {
    if (value.is_string())
      append_utf8(text, characters[static_cast<std::size_t>(i)]);
    else
      items.push_back(value.items()[static_cast<std::size_t>(i)]);
  }
  if (value.is_string()) return text;
  return Value::sequence(std::move(items), value.sequence().form);
}

}  // namespace attend::jinja
