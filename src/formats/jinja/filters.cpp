#include "formats/jinja/filters.h"

#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/methods.h"
#include "formats/jinja/operators.h"
#include "formats/jinja/text_cases.h"
#include "formats/jinja/text_wrapping.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace attend::jinja {
namespace {

bool flag(const Arguments& arguments, std::size_t place, std::string_view name, bool otherwise = false) {
  const Value* value = arguments.find(place, name);
  return value == nullptr ? otherwise : is_true(*value);
}

Value to_json_filter(const Value& value, const Arguments& arguments) {
  JsonStyle style;
  style.ascii = flag(arguments, 0, "ensure_ascii");
  style.sorted = flag(arguments, 3, "sort_keys");
  if (const Value* indent = arguments.find(1, "indent"); indent != nullptr && !indent->is_none()) {
    style.comma = ",";
    style.indent = indent->is_string() ? indent->text() : compute("*", " ", *indent).text();
  }
  if (const Value* separators = arguments.find(2, "separators");
      separators != nullptr && !separators->is_none()) {
    const List items = items_of(*separators);
    if (items.size() != 2) fail("expected two separators, found {}", to_repr(*separators));
    style.comma = items[0].to_string();
    style.colon = items[1].to_string();
  }
  return to_json(value, style);
}

Value default_filter(const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.find(0, "default_value");
  const bool replaces = value.is_undefined() || (flag(arguments, 1, "boolean") && !is_true(value));
  return !replaces ? value : otherwise == nullptr ? Value("") : *otherwise;
}

Value trim_filter(const Value& value, const Arguments& arguments) {
  const Value* characters = arguments.find(0, "chars");
  return stripped(to_text(value), characters == nullptr ? Value() : *characters, true, true);
}

Value replace_filter(const Value& value, const Arguments& arguments) {
  const Value* count = arguments.find(2, "count");
  return replaced(to_text(value), to_text(arguments.get(0, "old")), to_text(arguments.get(1, "new")),
                  count == nullptr || count->is_none() ? -1 : count->to_integer());
}

Value indent_filter(const Value& value, const Arguments& arguments) {
  const Value* width = arguments.find(0, "width");
  const std::string space = width == nullptr     ? "    "
                            : width->is_string() ? width->text()
                                                 : compute("*", " ", *width).text();
  const bool first = flag(arguments, 1, "first"), blank = flag(arguments, 2, "blank");
  std::string result;
  const std::vector<std::string> lines = lines_of(value.to_string() + '\n');
  for (const std::string& line : lines) {
    const bool is_first = &line == &lines.front();
    if (!is_first) result += '\n';
    if (is_first ? first : blank || !line.empty()) result += space;
    result += line;
    check_size(result.size());
  }
  return result;
}

Value wordwrap_filter(const Value& value, const Arguments& arguments) {
  const Value *width = arguments.find(0, "width"), *between = arguments.find(2, "wrapstring");
  const std::int64_t size = width == nullptr ? 79 : width->to_integer();
  const Wrapping wrapping{flag(arguments, 1, "break_long_words", true),
                          flag(arguments, 3, "break_on_hyphens", true)};
  const std::string newline = between == nullptr || between->is_none() ? "\n" : between->to_string();
  std::vector<std::string> lines;
  for (const std::string& paragraph : lines_of(value.to_string())) {
    if (size < 1) fail("expected a width of at least 1, found {}", size);
    std::vector<std::string> parts = wrapped(paragraph, static_cast<std::size_t>(size), wrapping);
    lines.push_back(fmt::format("{}", fmt::join(parts, newline)));
    check_size(lines.back().size());
  }
  std::string result = fmt::format("{}", fmt::join(lines, newline));
  check_size(result.size());
  return result;
}

// Words begin after white space, "-" and opening brackets.
Value title_filter(const Value& value, const Arguments&) {
  std::string result;
  bool begins = true;
  for (const char32_t c : decode_utf8(to_text(value))) {
    const std::string one = encoded(std::u32string_view(&c, 1));
    result += begins ? uppercase(one) : lowercase(std::string_view(one));
    begins = is_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
  }
  return result;
}

Value format_filter(const Value& value, const Arguments& arguments) {
  if (arguments.named.empty())
    return format_percent(to_text(value), Value::sequence(arguments.values, Value::Form::tuple));
  Dict dict;
  for (const auto& [name, each] : arguments.named) dict.emplace_back(name, each);
  return format_percent(to_text(value), Value(std::move(dict)));
}

// Parses like float(); none if there is no number.
std::optional<double> read_real(const std::string& text) {
  std::string clean(strip(text));
  std::erase(clean, '_');
  if (clean.starts_with('+')) clean.erase(0, 1);
  double number = 0;
  const char* end = clean.data() + clean.size();
  const auto [read_end, error] = std::from_chars(clean.data(), end, number);
  if (read_end != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? number : std::strtod(clean.c_str(), nullptr);
}

// Parses like int(text, base); none if there is no number.
std::optional<Integer> read_integer(const std::string& text, int base) {
  std::string_view digits = strip(text);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const std::string prefix = ascii_lowercase(std::string(digits.substr(0, 2)));
  if ((base == 16 && prefix == "0x") || (base == 8 && prefix == "0o") || (base == 2 && prefix == "0b"))
    digits.remove_prefix(2);
  if (digits.empty()) return std::nullopt;
  Integer number = 0;
  bool after_digit = !prefix.starts_with('_');
  for (const char c : digits) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const auto digit = std::string_view("0123456789abcdefghijklmnopqrstuvwxyz").find(lower);
    if (digit >= static_cast<std::size_t>(base)) return std::nullopt;
    number = Value(number * base + digit).to_large_integer();
    after_digit = true;
  }
  if (!after_digit) return std::nullopt;
  return negative ? Integer(-number) : number;
}

Value int_filter(const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.find(0, "default");
  const Value* base = arguments.find(1, "base");
  if (value.is_undefined()) fail("{}", value.undefined().message);
  std::optional<double> real;
  if (value.is_string()) {
    if (const auto number = read_integer(
            value.text(),
            base == nullptr ? 10 : static_cast<int>(std::clamp<std::int64_t>(base->to_integer(), 2, 36))))
      return *number;
    real = read_real(value.text());
  } else if (value.is_number()) {
    if (value.is_integral()) return value.to_large_integer();
    real = value.to_number();
  }
  if (real && std::isfinite(*real)) return Integer(std::trunc(*real));
  return otherwise == nullptr ? Value(std::int64_t{0}) : *otherwise;
}

Value float_filter(const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.find(0, "default");
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (value.is_number()) return value.to_number();
  if (value.is_string())
    if (const auto number = read_real(value.text())) return *number;
  return otherwise == nullptr ? Value(0.0) : *otherwise;
}

// Rounds to a multiple of 10^zeros; a number halfway between two becomes the even one.
Integer rounded_integer(const Integer& number, int zeros) {
  Integer unit = 1;
  for (int i = 0; i < zeros; ++i) unit *= 10;
  Integer quotient = abs(number) / unit;
  const Integer twice = (abs(number) - quotient * unit) * 2;
  if (twice > unit || (twice == unit && quotient % 2 != 0)) ++quotient;
  return number < 0 ? Integer(-quotient * unit) : Integer(quotient * unit);
}

Value round_filter(const Value& value, const Arguments& arguments) {
  const Value* precision = arguments.find(0, "precision");
  const Value* method = arguments.find(1, "method");
  const std::string how = method == nullptr ? "common" : method->to_string();
  const auto digits = static_cast<int>(
      std::clamp<std::int64_t>(precision == nullptr ? 0 : precision->to_integer(), -300, 300));
  const double number = value.to_number();
  if (how == "common") {
    if (value.is_integral())
      return digits >= 0 ? value.to_large_integer() : rounded_integer(value.to_large_integer(), -digits);
    return digits < 0 ? std::nearbyint(number / std::pow(10, -digits)) * std::pow(10, -digits)
                      : read_real(fmt::format("{:.{}f}", number, digits)).value_or(number);
  }
  const double scale = std::pow(10.0, digits);
  if (how != "ceil" && how != "floor") fail("expected common, ceil or floor, found '{}'", how);
  const double whole = how == "ceil" ? std::ceil(number * scale) : std::floor(number * scale);
  return (whole == 0 ? 0.0 : whole) / scale;  // Python's integers have no -0
}

Value abs_filter(const Value& value, const Arguments&) {
  return value.is_integral() ? Value(abs(value.to_large_integer())) : Value(std::abs(value.to_number()));
}

Value escape_filter(const Value& value, const Arguments&) {
  return value.is_markup() ? value : Value::markup(escaped(to_text(value)));
}

Value truncate_filter(const Value& value, const Arguments& arguments) {
  const Value *length = arguments.find(0, "length"), *end = arguments.find(2, "end"),
              *leeway = arguments.find(3, "leeway");
  const std::int64_t max = length == nullptr ? 255 : length->to_integer();
  const std::string ending = end == nullptr ? "..." : end->to_string();
  const auto size = static_cast<std::int64_t>(length_of(to_text(value)));
  if (size <= max + (leeway == nullptr || leeway->is_none() ? 5 : leeway->to_integer()))
    return to_text(value);
  std::string cut =
      slice_of(to_text(value), {}, max - static_cast<std::int64_t>(length_of(ending)), {}).text();
  if (!flag(arguments, 1, "killwords")) cut = cut.substr(0, std::min(cut.rfind(' '), cut.size()));
  return cut + ending;
}

const std::map<std::string_view, Filter> kFilters = {
    {"abs", abs_filter},
    {"attr",
     [](const Value& v, const Arguments& a) { return attribute_of(v, a.get(0, "name").to_string()); }},
    {"capitalize", [](const Value& v, const Arguments&) { return Value(capitalized(to_text(v))); }},
    {"center",
     [](const Value& v, const Arguments& a) {
       const Value* width = a.find(0, "width");
       return Value(centered(to_text(v), width == nullptr ? 80 : width->to_integer()));
     }},
    {"d", default_filter},
    {"default", default_filter},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"float", float_filter},
    {"forceescape", escape_filter},
    {"format", format_filter},
    {"indent", indent_filter},
    {"int", int_filter},
    {"lower",
     [](const Value& v, const Arguments&) { return Value(lowercase(std::string_view(to_text(v)))); }},
    {"replace", replace_filter},
    {"round", round_filter},
    {"safe", [](const Value& v, const Arguments&) { return Value::markup(to_text(v)); }},
    {"string", [](const Value& v, const Arguments&) { return v.is_string() ? v : Value(to_text(v)); }},
    {"title", title_filter},
    {"tojson", to_json_filter},
    {"trim", trim_filter},
    {"truncate", truncate_filter},
    {"upper", [](const Value& v, const Arguments&) { return Value(uppercase(to_text(v))); }},
    {"wordwrap", wordwrap_filter},
    {"wordcount", [](const Value& v, const Arguments&) { return Value(count_words(to_text(v))); }},
};

}  // namespace

namespace {

// Null: there is no such filter.
Filter find_filter(const std::string& name) {
  if (const auto found = kFilters.find(name); found != kFilters.end()) return found->second;
  for (const auto* more : {&sequence_filters(), &page_filters()})
    if (const auto found = std::ranges::find(*more, name, &NamedFilter::name); found != more->end())
      return found->filter;
  return nullptr;
}

}  // namespace

bool is_filter(const std::string& name) {
  return find_filter(name) != nullptr;
}

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  if (const Filter filter = find_filter(name)) return filter(value, arguments);
  if (name == "random" || name == "urlize") fail("the filter '{}' is not supported", name);
  fail("there is no filter '{}'", name);
}

}  // namespace attend::jinja
