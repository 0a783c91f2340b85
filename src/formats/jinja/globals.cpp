// The global names of every template: jinja2's functions, and those of transformers.
#include "base/error.h"
#include "formats/jinja/evaluator.h"

#include <algorithm>
#include <ctime>

namespace attend::jinja {
namespace {

constexpr std::size_t kMaxRange = 100'000;  // as in jinja2's sandbox

Value make_range(const Arguments& arguments) {
  const std::size_t count = arguments.values.size();
  if (count < 1 || count > 3) fail("range() takes 1 to 3 arguments, found {}", count);
  const std::int64_t begin = count == 1 ? 0 : arguments.values[0].to_integer(),
                     end = arguments.values[count == 1 ? 0 : 1].to_integer(),
                     step = count == 3 ? arguments.values[2].to_integer() : 1;
  if (step == 0) fail("range() arg 3 must not be zero");
  List items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    items.emplace_back(i);
    if (items.size() > kMaxRange) fail("Range too big. The sandbox blocks ranges larger than {}.", kMaxRange);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  charge(items.size());
  return Value::sequence(std::move(items));
}

// The arguments of dict() and namespace(): a dict or pairs, and names.
Dict make_dict(const Arguments& arguments) {
  Dict dict;
  const auto put = [&](const Value& key, const Value& value) {
    const auto known = std::ranges::find_if(dict, [&](const auto& entry) { return equal(entry.first, key); });
    if (known != dict.end())
      known->second = value;
    else
      dict.emplace_back(key, value);
  };
  for (const Value& given : arguments.values) {
    if (given.is(Value::Kind::dict)) {
      for (const auto& [key, value] : given.dict()) put(key, value);
      continue;
    }
    for (const Value& pair : items_of(given)) {
      const List items = items_of(pair);
      if (items.size() != 2) fail("expected pairs for a dict, found {}", to_repr(pair));
      put(items[0], items[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) put(name, value);
  return dict;
}

Value time_now(const Arguments& arguments) {
  const std::string& format = arguments.get(0, "format").to_string();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string result(std::min(format.size() * 64 + 64, std::size_t{1} << 16), '\0');
  result.resize(std::strftime(result.data(), result.size(), format.c_str(), &local));
  return result;
}

class Cycler : public Object {
 public:
  explicit Cycler(List items) : items_(Value::sequence(std::move(items))) {}
  std::string type() const override { return "Cycler"; }
  std::size_t depth() const override { return items_.depth(); }
  std::optional<Value> attribute(const std::string& name) const override {
    const auto function = [&](bool reset) {
      return std::make_shared<Function>([at = at_, items = items_, reset](const Arguments&) -> Value {
        if (reset) return *at = 0, Value();
        const Value item = items.items()[*at];
        *at = (*at + 1) % items.items().size();
        return item;
      });
    };
    if (name == "current") return items_.items()[*at_];
    if (name == "next" || name == "reset") return function(name == "reset");
    return std::nullopt;
  }

 private:
  Value items_;
  std::shared_ptr<std::size_t> at_ = std::make_shared<std::size_t>(0);
};

Value make_cycler(const Arguments& arguments) {
  if (arguments.values.empty()) fail("at least one item has to be provided");
  return std::make_shared<Cycler>(arguments.values);
}

Value make_joiner(const Arguments& arguments) {
  const Value* by = arguments.find(0, "sep");
  return std::make_shared<Function>([text = by == nullptr ? ", " : by->to_string(),
                                     used = std::make_shared<bool>(false)](const Arguments&) {
    return std::exchange(*used, true) ? Value(text) : Value("");
  });
}

}  // namespace

Evaluator::Evaluator(const Json& variables) {
  const auto add = [&](const char* name, std::function<Value(const Arguments&)> function) {
    globals_.values[name] = Value(std::make_shared<Function>(std::move(function)));
  };
  add("range", make_range);
  add("dict", [](const Arguments& arguments) { return Value(make_dict(arguments)); });
  add("cycler", make_cycler);
  add("joiner", make_joiner);
  add("namespace",
      [this](const Arguments& arguments) { return Value(make_namespace(make_dict(arguments))); });
  add("strftime_now", time_now);
  add("raise_exception", [](const Arguments& arguments) -> Value {
    fail("the template refuses this conversation: {}", to_text(arguments.get(0, "message")));
  });
  for (const auto& [name, value] : variables.items()) globals_.values[name] = Value::from_json(value);
}

Evaluator::~Evaluator() {
  for (const auto& each : namespaces_) each->values.clear();
}

std::shared_ptr<Object> Evaluator::make_namespace(const Dict& values) {
  auto made = std::make_shared<Namespace>();
  for (const auto& [name, value] : values) made->values[name.to_string()] = value;
  namespaces_.push_back(made);
  return made;
}

}  // namespace attend::jinja
