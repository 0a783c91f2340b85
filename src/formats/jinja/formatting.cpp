// Python's two ways to format values in a string.
#include "base/error.h"
#include "base/utf8.h"
#include "formats/jinja/operators.h"

#include <algorithm>
#include <cmath>

namespace attend::jinja {
namespace {

struct Specification {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  std::size_t width = 0;
  std::optional<int> precision;
  bool thousands = false, alternate = false;
  char type = 0;
};

std::string padded(const std::string& text, const Specification& wanted, char align) {
  const std::size_t size = decode_utf8(text).size();
  check_size(wanted.width);
  if (size >= wanted.width) return text;
  const std::size_t missing = wanted.width - size;
  std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const bool is_signed = !text.empty() && (text[0] == '-' || text[0] == '+');
  std::string result;
  if (align == '=') {
    before = missing;
    if (is_signed) result += text[0];
  }
  for (std::size_t i = 0; i < before; ++i) result += wanted.fill;
  result += align == '=' && is_signed ? text.substr(1) : text;
  for (std::size_t i = before; i < missing; ++i) result += wanted.fill;
  return result;
}

std::string with_thousands(std::string digits) {
  std::size_t end = std::min(digits.find_first_not_of("+-0123456789"), digits.size());
  const std::size_t begin = !digits.empty() && (digits[0] == '-' || digits[0] == '+') ? 1 : 0;
  while (end > begin + 3) digits.insert(end -= 3, ",");
  return digits;
}

std::string number_text(const Value& value, const Specification& wanted) {
  const char type = wanted.type == 0 ? (value.is(Value::Kind::real) ? 'r' : 'd') : wanted.type;
  const int precision = std::min(wanted.precision.value_or(6), 100);
  std::string text;
  switch (type) {
    case 'd':
    case 'i':
    case 'u':
      text = std::to_string(value.is(Value::Kind::real)
                                ? static_cast<std::int64_t>(std::clamp(value.to_number(), -9e18, 9e18))
                                : value.to_integer());
      break;
    case 'x':
      text = fmt::format("{:x}", value.to_integer());
      break;
    case 'X':
      text = fmt::format("{:X}", value.to_integer());
      break;
    case 'o':
      text = fmt::format("{:o}", value.to_integer());
      break;
    case 'b':
      text = fmt::format("{:b}", value.to_integer());
      break;
    case 'f':
    case 'F':
      text = fmt::format("{:.{}f}", value.to_number(), precision);
      break;
    case 'e':
      text = fmt::format("{:.{}e}", value.to_number(), precision);
      break;
    case 'g':
      text = fmt::format("{:.{}g}", value.to_number(), precision);
      break;
    case '%':
      text = fmt::format("{:.{}f}%", value.to_number() * 100, precision);
      break;
    case 'r':
      text = wanted.precision ? fmt::format("{:.{}g}", value.to_number(), precision) : to_text(value);
      break;
    default:
      fail("expected a number format, found '{}'", type);
  }
  if (wanted.sign != '-' && !text.starts_with('-')) text.insert(0, 1, wanted.sign);
  return wanted.thousands ? with_thousands(std::move(text)) : text;
}

std::string formatted(const Value& value, const Specification& wanted) {
  const bool as_text = wanted.type == 's' || wanted.type == 'r' ||
                       (wanted.type == 0 && (!value.is_number() || value.is(Value::Kind::boolean)));
  if (!as_text) return padded(number_text(value, wanted), wanted, wanted.align ? wanted.align : '>');
  std::string text = wanted.type == 'r' ? to_repr(value) : to_text(value);
  if (wanted.precision) {
    std::string cut;
    for (const char32_t c : decode_utf8(text).substr(0, static_cast<std::size_t>(*wanted.precision)))
      append_utf8(cut, c);
    text = cut;
  }
  return padded(text, wanted, wanted.align ? wanted.align : '<');
}

std::size_t read_count(std::string_view text, std::size_t& at) {
  std::size_t count = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    count = count * 10 + static_cast<std::size_t>(text[at] - '0');
    check_size(count);
  }
  return count;
}

// The format is [[fill]align][sign][#][0][width][,][.precision][type]
Specification read_specification(std::string_view text) {
  Specification wanted;
  std::size_t at = 0;
  const std::size_t first = text.empty() ? 0 : decode_utf8(text, 0).size;
  const auto is_align = [&](std::size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  if (first > 0 && is_align(first)) {
    wanted.fill = text.substr(0, first);
    wanted.align = text[first];
    at = first + 1;
  } else if (is_align(0)) {
    wanted.align = text[at++];
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) wanted.sign = text[at++];
  if (at < text.size() && text[at] == '#') ++at;
  if (at < text.size() && text[at] == '0' && wanted.align == 0) {
    wanted.fill = "0";
    wanted.align = '=';
  }
  wanted.width = read_count(text, at);
  if (at < text.size() && text[at] == ',') {
    wanted.thousands = true;
    ++at;
  }
  if (at < text.size() && text[at] == '.') wanted.precision = static_cast<int>(read_count(text, ++at));
  if (at < text.size()) wanted.type = text[at++];
  if (at < text.size()) fail("expected a format specification, found '{}'", text);
  return wanted;
}

// Such as name, 0, name.attribute[key].
Value read_field(std::string_view field, const Arguments& arguments, std::size_t& automatic) {
  const std::size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string first(field.substr(0, end));
  std::size_t at = 0;
  const bool numbered = first.find_first_not_of("0123456789") == first.npos;
  const std::size_t place = first.empty() ? automatic++
                            : numbered    ? read_count(first, at)
                                          : arguments.values.size();
  Value value = arguments.get(place, numbered ? std::to_string(place) : first);
  for (at = end; at < field.size();) {
    const bool item = field[at] == '[';
    const std::size_t stop =
        item ? field.find(']', at) : std::min(field.find_first_of(".[", at + 1), field.size());
    if (stop == field.npos) fail("expected ']' in a format string, found '{}'", field);
    const std::string name(field.substr(at + 1, stop - at - 1));
    std::size_t digits = 0;
    value = !item ? attribute_of(value, name)
            : name.find_first_not_of("0123456789") == name.npos
                ? item_of(value, static_cast<std::int64_t>(read_count(name, digits)))
                : item_of(value, name);
    at = stop + (item ? 1 : 0);
  }
  return value;
}

}  // namespace

std::string format_braces(const std::string& format, const Arguments& arguments) {
  std::string result;
  std::size_t automatic = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      result += c;
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == c) {
      result += c;
      ++at;
      continue;
    }
    const std::size_t end = format.find('}', at);
    if (c == '}' || end == format.npos)
      fail("expected '{{' and '}}' in pairs in a format string, found '{}'", format);
    std::string_view field = std::string_view(format).substr(at + 1, end - at - 1);
    std::string_view wanted;
    if (const std::size_t colon = field.find(':'); colon != field.npos) {
      wanted = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    const std::size_t mark = field.find('!');
    Value value = read_field(field.substr(0, mark), arguments, automatic);
    if (mark != field.npos) value = field.substr(mark) == "!r" ? to_repr(value) : to_text(value);
    result += formatted(value, read_specification(wanted));
    check_size(result.size());
    at = end;
  }
  return result;
}

std::string format_percent(const std::string& format, const Value& arguments) {
  const bool is_tuple = arguments.is_list_or_tuple() && arguments.sequence().form == Value::Form::tuple;
  const List values = is_tuple ? arguments.items() : List{arguments};
  std::size_t used = 0;
  const auto next = [&]() -> const Value& {
    if (used == values.size()) fail("not enough arguments for format string");
    return values[used++];
  };
  std::string result;
  bool named = false;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      result += format[at++];
      continue;
    }
    ++at;
    Value value;
    bool has_value = false;
    if (at < format.size() && format[at] == '(') {
      const std::size_t end = format.find(')', at);
      if (end == format.npos || !arguments.is(Value::Kind::dict)) fail("format requires a mapping");
      value = item_of(arguments, format.substr(at + 1, end - at - 1));
      has_value = named = true;
      at = end + 1;
    }
    Specification wanted;
    wanted.align = '>';
    for (; at < format.size() && std::string_view("-+ 0#").find(format[at]) != std::string_view::npos; ++at) {
      if (format[at] == '-') wanted.align = '<';
      if (format[at] == '+' || format[at] == ' ') wanted.sign = format[at];
      if (format[at] == '0') {
        wanted.fill = "0";
        wanted.align = '=';
      }
    }
    wanted.width = read_count(format, at);
    if (at < format.size() && format[at] == '.')
      wanted.precision = static_cast<int>(read_count(format, ++at));
    if (at == format.size()) fail("incomplete format");
    wanted.type = format[at++];
    if (wanted.type == '%') {
      result += '%';
      continue;
    }
    if (!has_value) value = next();
    result += formatted(value, wanted);
    check_size(result.size());
  }
  // Python treats a list as a mapping here, and a mapping may have more values than are used.
  const bool mapping = arguments.is(Value::Kind::dict) || arguments.is_undefined() ||
                       (arguments.is_list_or_tuple() && !is_tuple);
  if (!named && used < values.size() && !mapping)
    fail("not all arguments converted during string formatting");
  return result;
}

}  // namespace attend::jinja
