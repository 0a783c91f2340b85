// Filters for sequences.
#include "base/error.h"
#include "base/python_text.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/operators.h"

#include <algorithm>
#include <span>

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
  const Value* otherwise = nullptr;

  Value of(const Value& value) const {
    const Value found = path == nullptr || path->is_none() ? value : attribute_path(value, *path, otherwise);
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

// A generator that makes an item of each item of `value`; none: leaves it out. As in jinja2, None counts as
// an empty sequence here.
Value lazily(const Value& value, std::function<std::optional<Value>(const Value& each)> change) {
  return Value::generator(
      value, [value, change = std::move(change), next = Next()]() mutable -> std::optional<Value> {
        if (!next) next = iterate(is_true(value) ? value : Value::sequence({}));
        while (const std::optional<Value> each = next())
          if (std::optional<Value> made = change(*each)) return made;
        return std::nullopt;
      });
}

// A generator over the items that `make` returns when the first is read.
Value deferred(const Value& value, std::function<List()> make) {
  return Value::generator(value, [make = std::move(make), next = Next()]() mutable {
    if (!next) next = iterate(Value::sequence(make()));
    return next();
  });
}

Value length_filter(const Value& value, const Arguments&) {
  return counted(length_of(value));
}

Value list_filter(const Value& value, const Arguments&) {
  return Value::sequence(items_of(value));
}

Value items_filter(const Value& value, const Arguments&) {
  return deferred(value, [value]() -> List {
    if (value.is_undefined()) return {};
    if (!value.is(Value::Kind::dict)) fail("Can only get item pairs from a mapping.");
    List items;
    for (const auto& [key, each] : value.dict())
      items.push_back(Value::sequence({key, each}, Value::Form::tuple));
    return items;
  });
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
  const std::optional<Value> first = iterate(value)();
  return first ? *first : Value(Undefined{"No first item, sequence was empty."});
}

Value last_filter(const Value& value, const Arguments&) {
  if (value.is_generator()) fail("'generator' object is not reversible");
  const List items = items_of(value);
  return items.empty() ? Value(Undefined{"No last item, sequence was empty."}) : items.back();
}

Value reverse_filter(const Value& value, const Arguments&) {
  if (value.is_string()) return slice_of(value, {}, {}, std::int64_t{-1});
  List items = items_of(value);
  std::ranges::reverse(items);
  if (value.is_generator()) return Value::sequence(std::move(items));
  return deferred(value, [items = std::move(items)] { return items; });
}

// Python's sorted(items, key, reverse).
List sorted(const List& items, const std::function<Value(const Value& item)>& key, bool reverse) {
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& each : items) keyed.emplace_back(key(each), each);
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
  List result;
  for (const auto& [by, each] : keyed) result.push_back(each);
  return result;
}

// By one attribute or by several: "a,b".
Value sort_filter(const Value& value, const Arguments& arguments) {
  const Value* path = arguments.find(2, "attribute");
  const bool case_sensitive = set_to_true(arguments.find(1, "case_sensitive"));
  List paths;
  if (path != nullptr && path->is_string())
    for (std::size_t begin = 0; begin <= path->text().size();) {
      const std::size_t end = std::min(path->text().find(',', begin), path->text().size());
      paths.emplace_back(path->text().substr(begin, end - begin));
      begin = end + 1;
    }
  else
    paths.push_back(path == nullptr ? Value() : *path);
  const auto key = [&](const Value& item) {
    List keys;
    for (const Value& each : paths) keys.push_back(Key{&each, case_sensitive}.of(item));
    return Value::sequence(std::move(keys));
  };
  return Value::sequence(sorted(items_of(value), key, set_to_true(arguments.find(0, "reverse"))));
}

Value dictsort_filter(const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (!value.is(Value::Kind::dict)) fail("expected a mapping to sort, found {}", to_repr(value));
  const Value* by = arguments.find(1, "by");
  const bool by_value = by != nullptr && by->to_string() == "value";
  if (by != nullptr && !by_value && by->to_string() != "key")
    fail("dictsort: by: expected 'key' or 'value', found {}", to_repr(*by));
  const Key key{nullptr, set_to_true(arguments.find(0, "case_sensitive"))};
  const bool reverse = set_to_true(arguments.find(2, "reverse"));
  List entries;
  for (const auto& [name, each] : value.dict())
    entries.push_back(Value::sequence({name, each}, Value::Form::tuple));
  const auto part = [&](const Value& entry) { return key.of(entry.items()[by_value ? 1 : 0]); };
  return Value::sequence(sorted(entries, part, reverse));
}

Value unique_filter(const Value& value, const Arguments& arguments) {
  return deferred(value, [value, arguments] {
    const Key key{arguments.find(1, "attribute"), set_to_true(arguments.find(0, "case_sensitive"))};
    List items, seen;
    for (const Value& each : items_of(value)) {
      const Value by = key.of(each);
      charge(seen.size());
      if (std::ranges::any_of(seen, [&](const Value& known) { return equal(known, by); })) continue;
      seen.push_back(by);
      items.push_back(each);
    }
    return items;
  });
}

template <bool largest>
Value extreme_filter(const Value& value, const Arguments& arguments) {
  const Key key{arguments.find(1, "attribute"), set_to_true(arguments.find(0, "case_sensitive"))};
  const List items = items_of(value);
  if (items.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const Value* best = items.data();
  for (const Value& each : std::span(items).subspan(1))
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
  return lazily(value, [arguments, rest = rest_of(arguments, 1)](const Value& each) -> std::optional<Value> {
    if (!arguments.values.empty()) return apply_filter(arguments.values[0].to_string(), each, rest);
    return attribute_path(each, arguments.get(0, "attribute"), arguments.find(SIZE_MAX, "default"));
  });
}

// selectattr('name', 'equalto', 'x'), select('string'), and the opposites.
template <bool by_attribute, bool wanted>
Value select_filter(const Value& value, const Arguments& arguments) {
  constexpr std::size_t place = by_attribute ? 1 : 0;
  return lazily(value, [arguments, rest = rest_of(arguments, place + 1)](const Value& each) {
    const Value looked_at = by_attribute ? attribute_path(each, arguments.get(0, "attribute")) : each;
    const bool holds = arguments.values.size() > place
                           ? apply_test(arguments.values[place].to_string(), looked_at, rest)
                           : is_true(looked_at);
    return holds == wanted ? std::optional(each) : std::nullopt;
  });
}

List batches_of(const Value& value, const Arguments& arguments) {
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
  return batches;
}

List slices_of(const Value& value, const Arguments& arguments) {
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
  return result;
}

template <List (*parts)(const Value&, const Arguments&)>
Value parts_filter(const Value& value, const Arguments& arguments) {
  return deferred(value, [value, arguments] { return parts(value, arguments); });
}

// Pairs of a key and its items, in the order of the keys.
Value groupby_filter(const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.find(1, "default");
  const Key key{&arguments.get(0, "attribute"), set_to_true(arguments.find(2, "case_sensitive")), otherwise};
  List groups, group;
  Value name;
  const auto close = [&] {
    if (!group.empty())
      groups.push_back(
          Value::group(attribute_path(group.front(), *key.path, otherwise), Value::sequence(group)));
    group.clear();
  };
  for (const Value& each : sorted(
           items_of(value), [&](const Value& item) { return key.of(item); }, false)) {
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
  static const std::vector<NamedFilter> filters = {{"batch", parts_filter<batches_of>},
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
                                                   {"slice", parts_filter<slices_of>},
                                                   {"sort", sort_filter},
                                                   {"sum", sum_filter},
                                                   {"unique", unique_filter}};
  return filters;
}

}  // namespace attend::jinja
