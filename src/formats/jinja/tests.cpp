// Jinja's tests, which follow `is`.
#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/methods.h"
#include "formats/jinja/operators.h"

#include <map>

namespace attend::jinja {
namespace {

using Test = bool (*)(const Value& value, const Arguments& arguments);

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is(Value::Kind::dict) ||
         value.is(Value::Kind::sequence);
}

const Value& other_side(const Arguments& arguments) {
  return arguments.get(0, "other");
}

template <char sign, char second = 0>
bool compares(const Value& value, const Arguments& arguments) {
  const char text[] = {sign, second, 0};
  return compare(text, value, other_side(arguments));
}

template <Value::Kind kind>
bool has_kind(const Value& value, const Arguments&) {
  return value.is(kind);
}

bool is_in(const Value& value, const Arguments& arguments) {
  return contains(arguments.get(0, "seq"), value);
}
bool divides(const Value& value, const Arguments& arguments) {
  return compute("%", value, arguments.get(0, "num")).to_number() == 0;
}
template <bool odd>
bool is_odd_or_even(const Value& value, const Arguments&) {
  return compute("%", value, std::int64_t{2}).to_number() == (odd ? 1 : 0);
}
template <bool wanted>
bool is_exactly(const Value& value, const Arguments&) {
  return value.is(Value::Kind::boolean) && value.boolean() == wanted;
}
bool is_same(const Value& value, const Arguments& arguments) {
  return value.kind() == other_side(arguments).kind() && equal(value, other_side(arguments));
}
template <bool upper>
bool has_case(const Value& value, const Arguments&) {
  const Value text = to_text(value);
  return is_true(attribute_of(text, upper ? "isupper" : "islower").object()->call({}));
}

bool is_test(const std::string& name);

const std::map<std::string_view, Test> kTests = {
    {"==", compares<'=', '='>},
    {"eq", compares<'=', '='>},
    {"equalto", compares<'=', '='>},
    {"!=", compares<'!', '='>},
    {"ne", compares<'!', '='>},
    {"<", compares<'<'>},
    {"lt", compares<'<'>},
    {"lessthan", compares<'<'>},
    {"<=", compares<'<', '='>},
    {"le", compares<'<', '='>},
    {">", compares<'>'>},
    {"gt", compares<'>'>},
    {"greaterthan", compares<'>'>},
    {">=", compares<'>', '='>},
    {"ge", compares<'>', '='>},
    {"boolean", has_kind<Value::Kind::boolean>},
    {"callable",
     [](const Value& v, const Arguments&) {
       return v.is_undefined() || (v.is(Value::Kind::object) && v.object()->is_callable());
     }},
    {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"divisibleby", divides},
    {"escaped", [](const Value& v, const Arguments&) { return v.is_markup(); }},
    {"even", is_odd_or_even<false>},
    {"false", is_exactly<false>},
    {"filter", [](const Value& v, const Arguments&) { return v.is_string() && is_filter(v.text()); }},
    {"float", has_kind<Value::Kind::real>},
    {"in", is_in},
    {"integer", has_kind<Value::Kind::integer>},
    {"iterable", [](const Value& v, const Arguments&) { return is_iterable(v); }},
    {"lower", has_case<false>},
    {"mapping", has_kind<Value::Kind::dict>},
    {"none", has_kind<Value::Kind::none>},
    {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
    {"odd", is_odd_or_even<true>},
    {"sameas", is_same},
    // As in jinja2: everything with a length and an index, including undefined values.
    {"sequence",
     [](const Value& v, const Arguments&) {
       return is_iterable(v) && (!v.is(Value::Kind::sequence) || v.is_list_or_tuple());
     }},
    {"string", has_kind<Value::Kind::string>},
    {"test", [](const Value& v, const Arguments&) { return v.is_string() && is_test(v.text()); }},
    {"true", is_exactly<true>},
    {"undefined", has_kind<Value::Kind::undefined>},
    {"upper", has_case<true>},
};

bool is_test(const std::string& name) {
  return kTests.contains(name);
}

}  // namespace

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments) {
  const auto found = kTests.find(name);
  if (found == kTests.end()) fail("there is no test '{}'", name);
  return found->second(value, arguments);
}

}  // namespace attend::jinja
