#include "formats/jinja/evaluator.h"

#include "base/error.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/operators.h"

#include <algorithm>

namespace attend::jinja {
namespace {

constexpr int kMaxDepth = 800;  // of nested expressions, blocks and macros

// Counts the depth of nesting while it exists.
class Depth {
 public:
  explicit Depth(int& depth) : depth_(depth) {
    if (++depth_ <= kMaxDepth) return;
    --depth_;
    fail("calls and blocks are nested deeper than {} levels", kMaxDepth);
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& depth_;
};

bool is_constant(const Expression& expression) {
  using Kind = Expression::Kind;
  if (expression.kind == Kind::name || expression.kind == Kind::call) return false;
  return std::ranges::all_of(expression.children,
                             [](const Child& each) { return !each || is_constant(*each); }) &&
         std::ranges::all_of(expression.arguments,
                             [](const Given& each) { return is_constant(*each.value); });
}

}  // namespace

Value Evaluator::evaluate(const Expression& expression, Scope& scope) {
  const Depth depth(depth_);
  line_ = expression.line;
  Value value = evaluate_by_kind(expression, scope);
  charge(1 + (value.is_string() ? value.text().size() / 64 : 0));
  return value;
}

Value Evaluator::evaluate_by_kind(const Expression& expression, Scope& scope) {
  using Kind = Expression::Kind;
  const auto child = [&](std::size_t i) { return evaluate(*expression.children[i], scope); };
  switch (expression.kind) {
    case Kind::constant:
      return expression.value;
    case Kind::name: {
      const Value* found = scope.find(expression.name);
      return found != nullptr ? *found : Value(Undefined{fmt::format("'{}' is undefined", expression.name)});
    }
    case Kind::list:
      return Value::sequence(evaluate_all(expression, scope));
    case Kind::tuple:
      return Value::sequence(evaluate_all(expression, scope), Value::Form::tuple);
    case Kind::dict:
      return dict(expression, scope);
    case Kind::attribute:
      return attribute_of(child(0), expression.name);
    case Kind::item: {
      const Value whole = child(0);
      return item_of(whole, child(1));
    }
    case Kind::slice: {
      const Value whole = child(0), begin = optional(expression.children[1], scope),
                  end = optional(expression.children[2], scope),
                  step = optional(expression.children[3], scope);
      // jinja2 computes constants before it renders, by a rule of its own.
      if (!whole.is_string() && !whole.is_list_or_tuple() && is_constant(*expression.children[0]))
        return Undefined{fmt::format("'{}' object cannot be sliced", whole.type())};
      return slice_of(whole, begin, end, step);
    }
    case Kind::call:
      return call(expression, scope, nullptr);
    case Kind::filter: {
      const Value value = child(0);
      return apply_filter(expression.name, value, arguments(expression.arguments, scope));
    }
    case Kind::test: {
      const Value value = child(0);
      return apply_test(expression.name, value, arguments(expression.arguments, scope));
    }
    case Kind::unary: {
      const Value value = child(0);
      if (expression.name == "not") return !is_true(value);
      if (expression.name == "-") return negative(value);
      return value.is(Value::Kind::real) ? value : compute("+", std::int64_t{0}, value);  // +-0.0 is -0.0
    }
    case Kind::binary:
      return binary(expression, scope);
    case Kind::comparison:
      return comparison(expression, scope);
    case Kind::conditional:
      if (is_true(child(1))) return child(0);
      if (expression.children[2]) return child(2);
      return Undefined{"the inline if-expression evaluated to false and no else section was defined."};
  }
  return {};
}

Value Evaluator::optional(const Child& child, Scope& scope) {
  return child ? evaluate(*child, scope) : Value();
}

List Evaluator::evaluate_all(const Expression& expression, Scope& scope) {
  List values;
  for (const Child& each : expression.children) values.push_back(evaluate(*each, scope));
  return values;
}

Value Evaluator::dict(const Expression& expression, Scope& scope) {
  Dict dict;
  for (std::size_t i = 0; i + 1 < expression.children.size(); i += 2) {
    Value key = evaluate(*expression.children[i], scope),
          value = evaluate(*expression.children[i + 1], scope);
    if (key.is(Value::Kind::dict) || (key.is_list_or_tuple() && key.sequence().form == Value::Form::list))
      fail("unhashable type: '{}'", key.type());
    const auto known = std::ranges::find_if(dict, [&](const auto& entry) { return equal(entry.first, key); });
    if (known != dict.end())
      known->second = std::move(value);
    else
      dict.emplace_back(std::move(key), std::move(value));
  }
  return dict;
}

Value Evaluator::binary(const Expression& expression, Scope& scope) {
  const Value left = evaluate(*expression.children[0], scope);
  if (expression.name == "or" || expression.name == "and")
    return is_true(left) == (expression.name == "or") ? left : evaluate(*expression.children[1], scope);
  return compute(expression.name, left, evaluate(*expression.children[1], scope));
}

Value Evaluator::comparison(const Expression& expression, Scope& scope) {
  Value left = evaluate(*expression.children[0], scope);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(*expression.children[i + 1], scope);
    if (!compare(expression.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Arguments Evaluator::arguments(const std::vector<Given>& given, Scope& scope) {
  Arguments arguments;
  for (const Given& each : given) {
    const Value value = evaluate(*each.value, scope);
    if (each.kind == Given::Kind::value) arguments.values.push_back(value);
    if (each.kind == Given::Kind::named) arguments.named.emplace_back(each.name, value);
    if (each.kind == Given::Kind::list)
      for (Value& item : items_of(value)) arguments.values.push_back(item);
    if (each.kind == Given::Kind::dict) {
      if (!value.is(Value::Kind::dict)) fail("expected a mapping after **, found {}", to_repr(value));
      for (const auto& [name, item] : value.dict()) arguments.named.emplace_back(name.to_string(), item);
    }
  }
  return arguments;
}

Value Evaluator::call(const Expression& expression, Scope& scope, const std::shared_ptr<Object>& caller) {
  const Value function = evaluate(*expression.children[0], scope);
  Arguments given = arguments(expression.arguments, scope);
  if (caller) given.named.emplace_back("caller", caller);
  line_ = expression.line;
  if (function.is_undefined()) fail("{}", function.undefined().message);
  if (!function.is(Value::Kind::object)) fail("'{}' object is not callable", function.type());
  return function.object()->call(given);
}

// `expression`: nested filters; the innermost has no value of its own.
Value Evaluator::filters(const Expression& expression, const Value& value, Scope& scope) {
  const Child& inside = expression.children[0];
  const Value given = inside ? filters(*inside, value, scope) : value;
  line_ = expression.line;
  return apply_filter(expression.name, given, arguments(expression.arguments, scope));
}

Evaluator::Flow Evaluator::run(const Statement& statement, Scope& scope) {
  const Depth depth(depth_);
  return run_by_kind(statement, scope);
}

}  // namespace attend::jinja
