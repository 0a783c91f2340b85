// The evaluator's statements: blocks, loops, macros.
#include "base/error.h"
#include "formats/jinja/evaluator.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/operators.h"

#include <algorithm>
#include <set>

namespace attend::jinja {
namespace {

class Macro : public Object {
 public:
  Macro(Evaluator& evaluator, const Statement& statement, Scope& around)
      : evaluator_(evaluator), statement_(statement), around_(around) {}
  std::string type() const override { return "Macro"; }
  bool is_callable() const override { return true; }
  Value call(const Arguments& arguments) override {
    return evaluator_.call_macro(statement_, around_, arguments);
  }
  std::optional<Value> attribute(const std::string& name) const override {
    if (name == "name") return statement_.name;
    if (name == "catch_varargs") return statement_.takes_more;
    if (name == "catch_kwargs") return statement_.takes_more_named;
    if (name != "arguments") return std::nullopt;
    List names;
    for (const Parameter& each : statement_.parameters) names.emplace_back(each.name);
    return Value::sequence(std::move(names), Value::Form::tuple);
  }

 private:
  Evaluator& evaluator_;
  const Statement& statement_;
  Scope& around_;
};

// The variable `loop`. Items are read when they are needed, as in Python.
class Loop : public Object {
 public:
  Loop(const Value& source, Next next, std::int64_t depth)
      : next_(std::move(next)), source_depth_(source.depth()), depth_(depth) {}
  std::string type() const override { return "LoopContext"; }
  std::size_t depth() const override { return source_depth_; }
  bool is_callable() const override { return again != nullptr; }
  Value call(const Arguments& arguments) override {
    if (!again) fail("only a recursive loop can be called");
    return again(arguments.get(0, "iterable"));
  }

  std::optional<Value> attribute(const std::string& name) const override {
    const auto at = static_cast<std::int64_t>(index);
    if (name == "index") return at + 1;
    if (name == "index0") return at;
    if (name == "revindex") return length() - at;
    if (name == "revindex0") return length() - at - 1;
    if (name == "first") return at == 0;
    if (name == "last") return !has(index + 1);
    if (name == "length") return length();
    if (name == "depth") return depth_;
    if (name == "depth0") return depth_ - 1;
    if (name == "previtem")
      return index > 0 ? items_[index - 1] : Value(Undefined{"there is no previous item"});
    if (name == "nextitem")
      return has(index + 1) ? items_[index + 1] : Value(Undefined{"there is no next item"});
    if (name == "cycle")
      return std::make_shared<Function>([at](const Arguments& given) {
        if (given.values.empty()) fail("no items for cycling given");
        return given.values[static_cast<std::size_t>(at) % given.values.size()];
      });
    if (name == "changed")
      return std::make_shared<Function>([last = last_](const Arguments& given) {
        Value now = Value::sequence(given.values, Value::Form::tuple);
        const bool differs = !*last || !equal(**last, now);
        if (differs) *last = std::move(now);
        return differs;
      });
    return std::nullopt;
  }

  // Whether there is an item at this index.
  bool has(std::size_t at) const {
    while (items_.size() <= at) {
      std::optional<Value> item = next_();
      if (!item) return false;
      items_.push_back(std::move(*item));
    }
    return true;
  }
  const Value& item() const { return items_[index]; }
  // The loop is over: reads no more items.
  void stop() {
    next_ = [] { return std::nullopt; };
  }
  std::size_t index = 0;
  std::function<Value(const Value& items)> again;

 private:
  std::int64_t length() const {
    has(SIZE_MAX);
    return static_cast<std::int64_t>(items_.size());
  }

  Next next_;
  mutable List items_;  // that were read
  std::size_t source_depth_;
  std::int64_t depth_;
  std::shared_ptr<std::optional<Value>> last_ = std::make_shared<std::optional<Value>>();
};

}  // namespace

void Evaluator::run(const Body& body) {
  run(body, globals_);
}

Evaluator::Flow Evaluator::run(const Body& body, Scope& scope) {
  for (const auto& each : body)
    if (const Flow flow = run(*each, scope); flow != Flow::goes_on) return flow;
  return Flow::goes_on;
}

Evaluator::Flow Evaluator::run_by_kind(const Statement& statement, Scope& scope) {
  using Kind = Statement::Kind;
  line_ = statement.line;
  charge(1);
  Flow flow = Flow::goes_on;
  switch (statement.kind) {
    case Kind::text:
      write(statement.name);
      break;
    case Kind::output:
      write(to_text(evaluate(*statement.expression, scope)));
      break;
    case Kind::set:
      set(statement, scope);
      break;
    case Kind::condition:
      return condition(statement, scope);
    case Kind::loop:
      loop(statement, scope, evaluate(*statement.expression, scope), 1);
      break;
    case Kind::macro:
      scope.values[statement.name] = macro(statement, scope);
      break;
    case Kind::call:
      write(to_text(call(*statement.expression, scope, macro(statement, scope))));
      break;
    case Kind::filter: {
      const Value inside = captured(statement.body, scope);
      write(to_text(filters(*statement.expression, inside, scope)));
      break;
    }
    case Kind::with:
    case Kind::scope:
    case Kind::generation: {
      Scope& inside = enter(scope);
      for (const auto& [target, value] : statement.assignments)
        assign(*target, evaluate(*value, scope), inside);
      const std::size_t begin = text.size();
      flow = run(statement.body, inside);
      if (statement.kind == Kind::generation && captures_ == 0) generated.emplace_back(begin, text.size());
      leave(inside);
      break;
    }
    case Kind::stop:
      return statement.name == "break" ? Flow::breaks : Flow::continues;
  }
  return flow;
}

Evaluator::Flow Evaluator::condition(const Statement& statement, Scope& scope) {
  for (const Branch& branch : statement.branches)
    if (!branch.condition || is_true(evaluate(*branch.condition, scope))) return run(branch.body, scope);
  return Flow::goes_on;
}

void Evaluator::loop(const Statement& statement, Scope& scope, const Value& items, std::int64_t depth) {
  Next next = iterate(items);
  if (statement.condition)
    next = [this, &statement, &scope, all = std::move(next)]() -> std::optional<Value> {
      while (std::optional<Value> each = all()) {
        Scope& inside = enter(scope);
        assign(*statement.target, *each, inside);
        const bool holds = is_true(evaluate(*statement.condition, inside));
        leave(inside);
        // As in jinja2, where a generator unpacks the items and packs them again.
        if (holds && statement.target->kind == Expression::Kind::tuple)
          return Value::sequence(items_of(*each), Value::Form::tuple);
        if (holds) return each;
      }
      return std::nullopt;
    };
  const auto state = std::make_shared<Loop>(items, std::move(next), depth);
  if (statement.recursive) {
    for (Scope* each = &scope; each != nullptr; each = each->parent) each->kept = true;
    state->again = [this, &statement, &scope, depth](const Value& more) -> Value {
      return run_loop_again(statement, scope, more, depth + 1);
    };
  }
  bool any_whole = false;
  for (; state->has(state->index); ++state->index) {
    Scope& inside = enter(scope);
    inside.values["loop"] = Value(state);
    assign(*statement.target, state->item(), inside);
    const Flow flow = run(statement.body, inside);
    leave(inside);
    if (flow == Flow::breaks) break;
    any_whole = any_whole || flow == Flow::goes_on;
  }
  state->stop();
  if (any_whole) return;
  // As in jinja2: also if each item ended with break or continue.
  Scope& inside = enter(scope);
  run(statement.otherwise, inside);
  leave(inside);
}

std::string Evaluator::run_loop_again(const Statement& statement, Scope& around, const Value& items,
                                      std::int64_t depth) {
  std::string outside;
  std::swap(outside, text);
  ++captures_;
  loop(statement, around, items, depth);
  --captures_;
  std::swap(outside, text);
  return outside;
}

void Evaluator::assign(const Expression& target, const Value& value, Scope& scope) {
  if (target.kind == Expression::Kind::name) {
    scope.values[target.name] = value;
    return;
  }
  if (target.kind == Expression::Kind::attribute) {
    const Value owner = evaluate(*target.children[0], scope);
    const auto name_space =
        owner.is(Value::Kind::object) ? std::dynamic_pointer_cast<Namespace>(owner.object()) : nullptr;
    if (!name_space) fail("cannot assign attribute on non-namespace object");
    name_space->values[target.name] = value;
    return;
  }
  const List items = items_of(value);
  if (items.size() != target.children.size())
    fail("expected {} values to unpack, found {}", target.children.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.children[i], items[i], scope);
}

void Evaluator::set(const Statement& statement, Scope& scope) {
  if (statement.expression) {
    const Value value = evaluate(*statement.expression, scope);
    assign(*statement.target, value, scope);
    return;
  }
  const Value inside = captured(statement.body, scope);
  assign(*statement.target, statement.condition ? filters(*statement.condition, inside, scope) : inside,
         scope);
}

void Evaluator::write(const std::string& more) {
  charge(more.size() / 64);
  text += more;
  check_size(text.size());
}

std::string Evaluator::captured(const Body& body, Scope& scope) {
  std::string outside;
  std::swap(outside, text);
  ++captures_;
  Scope& inside = enter(scope);
  run(body, inside);
  leave(inside);
  --captures_;
  std::swap(outside, text);
  return outside;
}

Scope& Evaluator::enter(Scope& around) {
  open_.push_back(std::make_unique<Scope>(Scope{&around}));
  return *open_.back();
}

void Evaluator::leave(Scope& scope) {
  if (scope.kept) kept_.push_back(std::move(open_.back()));
  open_.pop_back();
}

std::shared_ptr<Object> Evaluator::macro(const Statement& statement, Scope& scope) {
  for (Scope* each = &scope; each != nullptr && !each->kept; each = each->parent) each->kept = true;
  return std::make_shared<Macro>(*this, statement, scope);
}

Value Evaluator::call_macro(const Statement& macro, Scope& around, const Arguments& given) {
  const std::string name = macro.name.empty() ? "caller" : macro.name;
  Scope& inside = enter(around);
  std::set<std::string> used;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* value = given.find(i, parameter.name);
    used.insert(parameter.name);
    inside.values[parameter.name] =
        value != nullptr ? *value
        : parameter.otherwise
            ? evaluate(*parameter.otherwise, inside)
            : Value(Undefined{fmt::format("parameter '{}' was not provided", parameter.name)});
  }
  List more;
  for (std::size_t i = macro.parameters.size(); i < given.values.size(); ++i) more.push_back(given.values[i]);
  if (!more.empty() && !macro.takes_more)
    fail("the macro '{}' takes at most {} arguments, found {}", name, macro.parameters.size(),
         given.values.size());
  Dict named;
  Value caller = Undefined{"No caller defined"};
  for (const auto& [key, value] : given.named) {
    if (used.contains(key)) continue;
    if (key == "caller" && macro.uses_caller)
      caller = value;
    else if (macro.takes_more_named)
      named.emplace_back(key, value);
    else
      fail("the macro '{}' takes no argument '{}'", name, key);
  }
  if (!macro.name.empty() && !used.contains("caller")) inside.values["caller"] = caller;
  if (macro.takes_more) inside.values["varargs"] = Value::sequence(std::move(more), Value::Form::tuple);
  if (macro.takes_more_named) inside.values["kwargs"] = Value(std::move(named));
  Value result = captured(macro.body, inside);
  leave(inside);
  return result;
}

}  // namespace attend::jinja
