#include "formats/jinja/value.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace attend::jinja {

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < values.size()) return &values[place];
  for (const auto& [known, value] : named)
    if (known == name) return &value;
  return nullptr;
}

const Value& Arguments::get(std::size_t place, std::string_view name) const {
  const Value* value = find(place, name);
  if (value == nullptr) fail("expected the argument '{}', found none", name);
  return *value;
}

std::optional<Value> Object::attribute(const std::string&) const {
  return std::nullopt;
}

Value Object::call(const Arguments&) {
  fail("'{}' object is not callable", type());
}

namespace {
constexpr std::size_t kMaxValueDepth = 200;
constexpr unsigned kMaxIntegerBits = 14'000;  // Python prints integers of up to 4300 digits

std::size_t deeper(std::size_t depth) {
  if (depth >= kMaxValueDepth) fail("lists and dicts are nested deeper than {} levels", kMaxValueDepth);
  return depth + 1;
}
}  // namespace

Value::Value(Dict value) {
  for (const auto& [key, each] : value) depth_ = std::max({depth_, key.depth(), each.depth()});
  depth_ = deeper(depth_);
  data_ = std::make_shared<const Dict>(std::move(value));
}

Value::Value(Integer value) : data_(std::move(value)) {
  const Integer& number = std::get<Integer>(data_);
  if (number != 0 && msb(abs(number)) > kMaxIntegerBits)
    fail("expected an integer of up to 4300 digits, found a larger one");
}

Value Value::sequence(List items, Form form) {
  Value value;
  for (const Value& each : items) value.depth_ = std::max(value.depth_, each.depth());
  value.depth_ = deeper(value.depth_);
  value.data_ = Sequence{form, std::make_shared<List>(std::move(items))};
  return value;
}

Value Value::group(Value name, Value items) {
  Value value = sequence({std::move(name), std::move(items)}, Form::tuple);
  std::get<Sequence>(value.data_).is_group = true;
  return value;
}

Value Value::generator(const Value& source, Next next) {
  Value value = sequence({}, Form::generator);
  value.depth_ = deeper(source.depth());
  std::get<Sequence>(value.data_).next = std::make_shared<Next>(std::move(next));
  return value;
}

Value Value::markup(std::string text) {
  Value value(std::move(text));
  value.markup_ = true;
  return value;
}

Value Value::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return Integer(json.get<std::uint64_t>());
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List items;
    for (const Json& each : json) items.push_back(from_json(each));
    return sequence(std::move(items));
  }
  Dict dict;
  for (const auto& [name, each] : json.items()) dict.emplace_back(name, from_json(each));
  return dict;
}

bool Value::is_list_or_tuple() const {
  return is(Kind::sequence) && (sequence().form == Form::list || sequence().form == Form::tuple);
}

std::int64_t Value::to_integer() const {
  const Integer value = to_large_integer();
  if (value < INT64_MIN || value > INT64_MAX)
    fail("expected an integer of 64 bits, found {}", to_repr(*this));
  return static_cast<std::int64_t>(value);
}

Integer Value::to_large_integer() const {
  if (is(Kind::boolean)) return boolean() ? 1 : 0;
  if (!is(Kind::integer)) fail("expected an integer, found {}", to_repr(*this));
  return std::get<Integer>(data_);
}

double Value::to_number() const {
  if (is(Kind::real)) return std::get<double>(data_);
  if (!is_number()) fail("expected a number, found {}", to_repr(*this));
  const Integer value = to_large_integer();
  if (value >= INT64_MIN && value <= INT64_MAX) return static_cast<double>(static_cast<std::int64_t>(value));
  const double number = std::strtod(value.str().c_str(), nullptr);  // rounds correctly
  if (std::isinf(number)) fail("expected an integer that fits a float, found a larger one");
  return number;
}

const std::string& Value::to_string() const {
  if (is_undefined()) fail("{}", undefined().message);
  if (!is_string()) fail("expected a string, found {}", to_repr(*this));
  return text();
}

std::string Value::type() const {
  switch (kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return "str";
    case Kind::dict:
      return "dict";
    case Kind::object:
      return object()->type();
    case Kind::sequence:
      break;
  }
  constexpr const char* kNames[] = {"list", "tuple", "dict_items", "generator"};
  return kNames[static_cast<std::size_t>(sequence().form)];
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::undefined:
    case Value::Kind::none:
      return false;
    case Value::Kind::boolean:
    case Value::Kind::integer:
      return value.to_large_integer() != 0;
    case Value::Kind::real:
      return value.to_number() != 0;
    case Value::Kind::string:
      return !value.text().empty();
    case Value::Kind::sequence:
      return value.is_generator() || !value.items().empty();
    case Value::Kind::dict:
      return !value.dict().empty();
    case Value::Kind::object:
      return true;
  }
  return true;
}

std::size_t length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_string()) return decode_utf8(value.text()).size();
  if (value.is(Value::Kind::dict)) return value.dict().size();
  if (value.is(Value::Kind::sequence) && !value.is_generator()) return value.items().size();
  fail("object of type '{}' has no len()", value.type());
}

Next iterate(const Value& value) {
  if (value.is_generator()) return [next = value.sequence().next] { return (*next)(); };
  return [items = items_of(value), at = std::size_t{0}]() mutable -> std::optional<Value> {
    return at < items.size() ? std::optional(items[at++]) : std::nullopt;
  };
}

List items_of(const Value& value) {
  List items;
  switch (value.kind()) {
    case Value::Kind::undefined:
      return {};
    case Value::Kind::sequence:
      charge(value.items().size());
      if (!value.is_generator()) return value.items();
      while (std::optional<Value> each = (*value.sequence().next)()) {
        charge(1);
        items.push_back(std::move(*each));
      }
      return items;
    case Value::Kind::dict:
      for (const auto& [key, each] : value.dict()) items.push_back(key);
      return items;
    case Value::Kind::string: {
      const std::string& text = value.text();
      charge(text.size());
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = decode_utf8(text, at).size;
        items.emplace_back(text.substr(at, size));
        at += size;
      }
      return items;
    }
    default:
      fail("'{}' object is not iterable", value.type());
  }
}

bool equal(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is(Value::Kind::real) || right.is(Value::Kind::real))
      return left.to_number() == right.to_number();
    return left.to_large_integer() == right.to_large_integer();
  }
  if (left.kind() != right.kind()) return false;
  charge(1);
  switch (left.kind()) {
    case Value::Kind::string:
      return left.text() == right.text();
    case Value::Kind::sequence:
      if (left.sequence().items == right.sequence().items) return true;
      return left.sequence().form == right.sequence().form && !left.is_generator() &&
             std::ranges::equal(left.items(), right.items(), equal);
    case Value::Kind::dict:
      if (left.dict().size() != right.dict().size()) return false;
      return std::ranges::all_of(left.dict(), [&](const auto& entry) {
        const Value* other = find(right.dict(), entry.first);
        return other != nullptr && equal(entry.second, *other);
      });
    case Value::Kind::object:
      return left.object() == right.object();
    default:
      return true;  // None and None, undefined and undefined
  }
}

bool less(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is(Value::Kind::real) || right.is(Value::Kind::real))
      return left.to_number() < right.to_number();
    return left.to_large_integer() < right.to_large_integer();
  }
  // UTF-8 sorts like code points
  if (left.is_string() && right.is_string()) return left.text() < right.text();
  if (left.is_list_or_tuple() && right.is_list_or_tuple() && left.sequence().form == right.sequence().form) {
    const List &a = left.items(), &b = right.items();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equal(a[i], b[i])) return less(a[i], b[i]);
    return a.size() < b.size();
  }
  charge(1);
  for (const Value* side : {&left, &right})
    if (side->is_undefined()) fail("{}", side->undefined().message);
  fail("'<' not supported between instances of '{}' and '{}'", left.type(), right.type());
}

bool contains(const Value& whole, const Value& value) {
  if (whole.is_string()) {
    if (!value.is_string()) fail("'in <string>' requires string as left operand, not {}", value.type());
    charge(whole.text().size() / 16);
    return whole.text().find(value.text()) != std::string::npos;
  }
  if (whole.is(Value::Kind::dict)) return find(whole.dict(), value) != nullptr;
  const Next next = iterate(whole);
  while (const std::optional<Value> each = next())
    if (equal(*each, value)) return true;
  return false;
}

const Value* find(const Dict& dict, const Value& key) {
  for (const auto& [known, value] : dict)
    if (equal(known, key)) return &value;
  return nullptr;
}

namespace {
thread_local std::size_t work_left = SIZE_MAX;
}

WorkLimit::WorkLimit(std::size_t work) : before_(work_left) {
  work_left = work;
}
WorkLimit::~WorkLimit() {
  work_left = before_;
}

void charge(std::size_t work) {
  if (work > work_left) fail("the template takes too long: it has done more work than templates need");
  work_left -= work;
}

void check_size(std::size_t size) {
  if (size > kMaxSize)
    fail("the template makes a text or list with more than {} characters or items", kMaxSize);
}

std::size_t checked_product(std::size_t size, std::size_t count) {
  if (size != 0 && count > kMaxSize / size) check_size(kMaxSize + 1);
  return size * count;
}

}  // namespace attend::jinja
