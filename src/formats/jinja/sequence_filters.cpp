// Filters for sequences.
#include "base/error.h"
#include "base/python_text.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/operators.h"

#include <algorithm>

namespace attend::jinja {
namespace {

Value counted(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

bool set_to_true(const Value* value) {
  return value != nullptr && is_true(*value);
}

Value lowered_if_text(const Value& value) {
  return value.is_string() ? Value(lowercase(std::string_view(value.text()))) : value;
}

// The sort key of an item: an attribute, and whether case matters.
struct Key {
  const Value* path;
  bool case_sensitive;

  Value of(const Value& value) const {
    const Value found = path == nullptr || path->is_none() ? value : attribute_path(value, *path);
    return case_sensitive ? found : lowered_if_text(found);
  }
};

// The arguments after the first `count`.
Arguments rest_of(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.values.erase(rest.values.begin(),
                    rest.values.begin() + static_cast<std::ptrdiff_t>(std::min(count, rest.values.size())));
  return rest;
}

Value length_filter(const Value& value, const Arguments&) {
  return counted(length_of(value));
}

Value list_filter(const Value& value, const Arguments&) {
  return Value::sequence(items_of(value));
}

Value items_filter(const Value& value, const Arguments&) {
  if (value.is_undefined()) return Value::sequence({}, Value::Form::generator);
  if (!value.is(Value::Kind::dict)) fail("Can only get item pairs from a mapping.");
  List items;
  for (const auto& [key, each] : value.dict())
    items.push_back(Value::sequence({key, each}, Value::Form::tuple));
  return Value::sequence(std::move(items), Value::Form::generator);
}

Value join_filter(const Value& value, const Arguments& arguments) {
  const Value *by = arguments.find(0, "d"), *path = arguments.find(1, "attribute");
  std::string text;
  bool first = true;
  for (const Value& each : items_of(value)) {
    if (!first && by != nullptr) text += to_text(*by);
    first = false;
    text += to_text(path == nullptr || path->is_none() ? each : attribute_path(each, *path));
    check_size(text.size());
  }
  return text;
}

Value first_filter(const Value& value, const Arguments&) {
  const List items = items_of(value);
  return items.empty() ? Value(Undefined{"No first item, sequence was empty."}) : items.front();
}

Value last_filter(const Value& value, const Arguments&) {
  const List items = items_of(value);
  return items.empty() ? Value(Undefined{"No last item, sequence was empty."}) : items.back();
}

Value reverse_filter(const Value& value, const Arguments&) {
  if (value.is_string()) return slice_of(value, {}, {}, std::int64_t{-1});
  List items = items_of(value);
  std::ranges::reverse(items);
  return Value::sequence(std::move(items), Value::Form::generator);
}

Value sort_filter(const Value& value, const Arguments& arguments) {
  const Key key{arguments.find(2, "attribute"), set_to_true(arguments.find(1, "case_sensitive"))};
  const bool reverse = set_to_true(arguments.find(0, "reverse"));
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& each : items_of(value)) keyed.emplace_back(key.of(each), each);
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
  List items;
  for (const auto& [by, each] : keyed) items.push_back(each);
  return Value::sequence(std::move(items));
}

Value dictsort_filter(const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (!value.is(Value::Kind::dict)) fail("expected a mapping to sort, found {}", to_repr(value));
  const Value* by = arguments.find(1, "by");
  const bool by_value = by != nullptr && by->to_string() == "value";
  const Key key{nullptr, set_to_true(arguments.find(0, "case_sensitive"))};
  const bool reverse = set_to_true(arguments.find(2, "reverse"));
  Dict entries = value.dict();
  std::ranges::stable_sort(entries, [&](const auto& a, const auto& b) {
    const Value left = key.of(by_value ? a.second : a.first), right = key.of(by_value ? b.second : b.first);
    return reverse ? less(right, left) : less(left, right);
  });
  List items;
  for (const auto& [name, each] : entries) items.push_back(Value::sequence({name, each}, Value::Form::tuple));
  return Value::sequence(std::move(items));
}

Value unique_filter(const Value& value, const Arguments& arguments) {
  const Key key{arguments.find(1, "attribute"), set_to_true(arguments.find(0, "case_sensitive"))};
  List items, seen;
  for (const Value& each : items_of(value)) {
    const Value by = key.of(each);
    charge(seen.size());
    if (std::ranges::any_of(seen, [&](const Value& known) { return equal(known, by); })) continue;
    seen.push_back(by);
    items.push_back(each);
  }
  return Value::sequence(std::move(items), Value::Form::generator);
}

template <bool largest>
Value extreme_filter(const Value& value, const Arguments& arguments) {
  const Key key{arguments.find(1, "attribute"), set_to_true(arguments.find(0, "case_sensitive"))};
  const List items = items_of(value);
  if (items.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const Value* best = items.data();
  for (const Value& each : items)
    if (largest ? less(key.of(*best), key.of(each)) : less(key.of(each), key.of(*best))) best = &each;
  return *best;
}

Value sum_filter(const Value& value, const Arguments& arguments) {
  const Value *path = arguments.find(0, "attribute"), *start = arguments.find(1, "start");
  Value sum = start == nullptr ? Value(std::int64_t{0}) : *start;
  for (const Value& each : items_of(value))
    sum = compute("+", sum, path == nullptr || path->is_none() ? each : attribute_path(each, *path));
  return sum;
}

Value map_filter(const Value& value, const Arguments& arguments) {
  List items;
  const bool by_name = !arguments.values.empty();
  const Value* otherwise = arguments.find(SIZE_MAX, "default");
  const Arguments rest = rest_of(arguments, 1);
  // As in jinja2, None counts as an empty sequence here.
  for (const Value& each : is_true(value) ? items_of(value) : List()) {
    if (by_name) {
      items.push_back(apply_filter(arguments.values[0].to_string(), each, rest));
      continue;
    }
    items.push_back(attribute_path(each, arguments.get(0, "attribute"), otherwise));
  }
  return Value::sequence(std::move(items), Value::Form::generator);
}

// selectattr('name', 'equalto', 'x'), select('string'), and the opposites.
template <bool by_attribute, bool wanted>
Value select_filter(const Value& value, const Arguments& arguments) {
  constexpr std::size_t place = by_attribute ? 1 : 0;
  const Arguments rest = rest_of(arguments, place + 1);
  List items;
  for (const Value& each : is_true(value) ? items_of(value) : List()) {
    const Value looked_at = by_attribute ? attribute_path(each, arguments.get(0, "attribute")) : each;
    const bool holds = arguments.values.size() > place
                           ? apply_test(arguments.values[place].to_string(), looked_at, rest)
                           : is_true(looked_at);
    if (holds == wanted) items.push_back(each);
  }
  return Value::sequence(std::move(items), Value::Form::generator);
}

Value batch_filter(const Value& value, const Arguments& arguments) {
  const std::int64_t size = arguments.get(0, "linecount").to_integer();
  const Value* fill = arguments.find(1, "fill_with");
  if (size < 1) fail("expected at least 1 item in a batch, found {}", size);
  List batches, batch;
  const auto close = [&] { batches.push_back(Value::sequence(std::exchange(batch, {}))); };
  for (const Value& each : items_of(value)) {
    if (batch.size() == static_cast<std::size_t>(size)) close();
    batch.push_back(each);
  }
  check_size(static_cast<std::size_t>(size));
  if (!batch.empty() && fill != nullptr && !fill->is_none())
    while (batch.size() < static_cast<std::size_t>(size)) batch.push_back(*fill);
  if (!batch.empty()) close();
  return Value::sequence(std::move(batches), Value::Form::generator);
}

Value slice_filter(const Value& value, const Arguments& arguments) {
  const List items = items_of(value);
  const std::int64_t count = arguments.get(0, "slices").to_integer();
  const Value* fill = arguments.find(1, "fill_with");
  if (count < 1) fail("expected at least 1 slice, found {}", count);
  check_size(static_cast<std::size_t>(count));
  const std::size_t slices = static_cast<std::size_t>(count), each = items.size() / slices,
                    more = items.size() % slices;
  List result;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t size = each + (i < more ? 1 : 0);
    List part(items.begin() + static_cast<std::ptrdiff_t>(at),
              items.begin() + static_cast<std::ptrdiff_t>(at + size));
    if (fill != nullptr && !fill->is_none() && i >= more) part.push_back(*fill);
    result.push_back(Value::sequence(std::move(part)));
    at += size;
  }
  return Value::sequence(std::move(result), Value::Form::generator);
}

// Pairs of a key and its items, in the order of the keys.
Value groupby_filter(const Value& value, const Arguments& arguments) {
  const Key key{&arguments.get(0, "attribute"), set_to_true(arguments.find(2, "case_sensitive"))};
  Arguments by;
  by.named = {{"attribute", *key.path}, {"case_sensitive", Value(key.case_sensitive)}};
  List groups, group;
  Value name;
  const auto close = [&] {
    if (!group.empty())
      groups.push_back(Value::sequence({attribute_path(group.front(), *key.path), Value::sequence(group)},
                                       Value::Form::tuple));
    group.clear();
  };
  for (const Value& each : items_of(sort_filter(value, by))) {
    const Value found = key.of(each);
    if (!group.empty() && !equal(found, name)) close();
    name = found;
    group.push_back(each);
  }
  close();
  return Value::sequence(std::move(groups));
}

}  // namespace

Value attribute_path(const Value& value, const Value& path, const Value* otherwise) {
  const auto part_of = [&](const Value& whole, const Value& key) {
    const Value found = item_of(whole, key);
    return found.is_undefined() && otherwise != nullptr && !otherwise->is_none() ? *otherwise : found;
  };
  if (!path.is_string()) return part_of(value, path);
  Value found = value;
  const std::string& text = path.text();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool index = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    found = part_of(found, index ? Value(static_cast<std::int64_t>(std::stoll(part))) : Value(part));
    begin = end + 1;
  }
  return found;
}

const std::vector<NamedFilter>& sequence_filters() {
  static const std::vector<NamedFilter> filters = {{"batch", batch_filter},
                                                   {"count", length_filter},
                                                   {"dictsort", dictsort_filter},
                                                   {"first", first_filter},
                                                   {"groupby", groupby_filter},
                                                   {"items", items_filter},
                                                   {"join", join_filter},
                                                   {"last", last_filter},
                                                   {"length", length_filter},
                                                   {"list", list_filter},
                                                   {"map", map_filter},
                                                   {"max", extreme_filter<true>},
                                                   {"min", extreme_filter<false>},
                                                   {"reject", select_filter<false, false>},
                                                   {"rejectattr", select_filter<true, false>},
                                                   {"reverse", reverse_filter},
                                                   {"select", select_filter<false, true>},
                                                   {"selectattr", select_filter<true, true>},
                                                   {"slice", slice_filter},
                                                   {"sort", sort_filter},
                                                   {"sum", sum_filter},
                                                   {"unique", unique_filter}};
  return filters;
}

}  // namespace attend::jinja
