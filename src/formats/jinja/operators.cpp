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

[[noreturn]] void fail_overflow() {
  fail("expected integers of 64 bits, found larger ones");
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) fail_overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
  }
  return result;
}

Value compute_integers(std::string_view sign, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  if (sign == "+") {
    if (__builtin_add_overflow(left, right, &result)) fail_overflow();
  } else if (sign == "-") {
    if (__builtin_sub_overflow(left, right, &result)) fail_overflow();
  } else if (sign == "*") {
    if (__builtin_mul_overflow(left, right, &result)) fail_overflow();
  } else if (sign == "**") {
    result = integer_power(left, right);
  } else {  // // and %: rounded down, with the sign of the divisor
    if (right == 0) fail("division by zero");
    if (right == -1) {
      if (left == INT64_MIN) fail_overflow();
      return sign == "%" ? std::int64_t{0} : -left;
    }
    const bool turned = left % right != 0 && (left % right < 0) != (right < 0);
    result = sign == "%" ? left % right + (turned ? right : 0) : left / right - (turned ? 1 : 0);
  }
  return result;
}

Value compute_numbers(std::string_view sign, const Value& left, const Value& right) {
  const bool real = left.is(Value::Kind::real) || right.is(Value::Kind::real) || sign == "/" ||
                    (sign == "**" && right.to_integer() < 0);
  if (!real) return compute_integers(sign, left.to_integer(), right.to_integer());
  const double a = left.to_number(), b = right.to_number();
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "**") return std::pow(a, b);
  if (b == 0) fail("division by zero");
  if (sign == "/") return a / b;
  if (sign == "//") return std::floor(a / b);
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
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
  return compute_numbers("-", std::int64_t{0}, value);
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
  const std::string type = value.is_none() ? "None" : value.type() + " object";
  return Undefined{fmt::format("'{}' has no attribute '{}'", type, name)};
}

Value item_of(const Value& value, const Value& key) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (value.is(Value::Kind::dict)) {
    if (const Value* found = find(value.dict(), key)) return *found;
  } else if ((value.is_list_or_tuple() || value.is_string()) &&
             (key.is(Value::Kind::integer) || key.is(Value::Kind::boolean))) {
    const auto size = static_cast<std::int64_t>(length_of(value));
    std::int64_t at = key.to_integer();
    if (at < 0) at += size;
    if (at >= 0 && at < size) {
      if (!value.is_string()) return value.items()[static_cast<std::size_t>(at)];
      std::string character;
      append_utf8(character, decode_utf8(value.text())[static_cast<std::size_t>(at)]);
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
