#include "formats/jinja/methods.h"

#include "base/error.h"
#include "formats/jinja/text_methods.h"

#include <algorithm>
#include <map>
#include <span>

namespace attend::jinja {
namespace {

using Method = Value (*)(const Value& value, const Arguments& arguments);

Value dict_get(const Value& value, const Arguments& arguments) {
  const Value* found = find(value.dict(), arguments.get(0, "key"));
  const Value* otherwise = arguments.find(1, "default");
  return found != nullptr ? *found : otherwise != nullptr ? *otherwise : Value();
}

Value dict_keys(const Value& value, const Arguments&) {
  return Value::sequence(items_of(value), Value::Form::view);
}

Value dict_values(const Value& value, const Arguments&) {
  List items;
  for (const auto& [key, each] : value.dict()) items.push_back(each);
  return Value::sequence(std::move(items), Value::Form::view);
}

Value dict_items(const Value& value, const Arguments&) {
  List items;
  for (const auto& [key, each] : value.dict())
    items.push_back(Value::sequence({key, each}, Value::Form::tuple));
  return Value::sequence(std::move(items), Value::Form::view);
}

// {}.fromkeys(['a'], 1)
Value dict_from_keys(const Value&, const Arguments& arguments) {
  const Value* given = arguments.find(1, "value");
  Dict made;
  for (const Value& key : items_of(arguments.get(0, "iterable")))
    if (find(made, key) == nullptr) made.emplace_back(key, given == nullptr ? Value() : *given);
  return made;
}

Value same_value(const Value& value, const Arguments&) {
  return value;
}

Value list_index(const Value& value, const Arguments& arguments) {
  const List& items = value.items();
  const auto found =
      std::ranges::find_if(items, [&](const Value& each) { return equal(each, arguments.get(0, "value")); });
  if (found == items.end()) fail("{} is not in the list", to_repr(arguments.get(0, "value")));
  return static_cast<std::int64_t>(found - items.begin());
}

Value list_count(const Value& value, const Arguments& arguments) {
  return static_cast<std::int64_t>(std::ranges::count_if(
      value.items(), [&](const Value& each) { return equal(each, arguments.get(0, "value")); }));
}

const std::map<std::string_view, Method> kDictMethods = {
    {"get", dict_get},     {"keys", dict_keys},          {"values", dict_values},
    {"items", dict_items}, {"fromkeys", dict_from_keys}, {"copy", same_value}};
const std::map<std::string_view, Method> kListMethods = {
    {"index", list_index}, {"count", list_count}, {"copy", same_value}};
const std::map<std::string_view, Method> kTupleMethods = {{"index", list_index}, {"count", list_count}};

constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};

// A method bound to its value.
class BoundMethod : public Object {
 public:
  BoundMethod(Value value, Method method) : value_(std::move(value)), method_(method) {}
  std::string type() const override { return "builtin_function_or_method"; }
  bool is_callable() const override { return true; }
  Value call(const Arguments& arguments) override { return method_(value_, arguments); }
  std::size_t depth() const override { return value_.depth(); }

 private:
  Value value_;
  Method method_;
};

}  // namespace

std::optional<Value> method_of(const Value& value, const std::string& name) {
  const std::map<std::string_view, Method>* methods = nullptr;
  std::span<const std::string_view> changes;
  if (value.is_string()) {
    methods = &text_methods();
  } else if (value.is(Value::Kind::dict)) {
    methods = &kDictMethods;
    changes = kDictChanges;
  } else if (value.is_list_or_tuple()) {
    const bool is_list = value.sequence().form == Value::Form::list;
    methods = is_list ? &kListMethods : &kTupleMethods;
    if (is_list) changes = kListChanges;
  }
  if (methods == nullptr) return std::nullopt;
  if (std::ranges::find(changes, name) != changes.end())
    return Undefined{fmt::format("access to attribute '{}' of '{}' object is unsafe", name, value.type())};
  const auto found = methods->find(name);
  if (found == methods->end()) return std::nullopt;
  return std::make_shared<BoundMethod>(value, found->second);
}

}  // namespace attend::jinja
