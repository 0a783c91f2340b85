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
  bool zeros = false, alternate = false;
  char group = 0;  // , or _ between groups of digits
  char type = 0;
  bool is_percent = false;  // of the % operator
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

std::string with_groups(std::string digits, const Specification& wanted) {
  const std::size_t size = std::string_view("xXob").find(wanted.type) != std::string_view::npos ? 4 : 3;
  const std::size_t begin = !digits.empty() && (digits[0] == '-' || digits[0] == '+') ? 1 : 0;
  std::size_t end = begin;
  while (end < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[end])) != 0 &&
         (size == 4 || digits[end] <= '9'))
    ++end;
  while (end > begin + size) digits.insert(end -= size, 1, wanted.group);
  return digits;
}

std::string integer_text(const Integer& value, const Specification& wanted) {
  const Integer size = abs(value);
  std::string digits;
  const std::string_view prefix = wanted.type == 'x'   ? "0x"
                                  : wanted.type == 'X' ? "0X"
                                  : wanted.type == 'o' ? "0o"
                                  : wanted.type == 'b' ? "0b"
                                                       : "";
  if (wanted.type == 'x' || wanted.type == 'X')
    digits = size.str(
        0, std::ios_base::hex | (wanted.type == 'X' ? std::ios_base::uppercase : std::ios_base::fmtflags()));
  else if (wanted.type == 'o')
    digits = size.str(0, std::ios_base::oct);
  else if (wanted.type == 'b')
    for (Integer rest = size; rest != 0 || digits.empty(); rest /= 2)
      digits.insert(digits.begin(), rest % 2 == 0 ? '0' : '1');
  else
    digits = size.str();
  if (wanted.alternate) digits.insert(0, prefix);
  return value < 0 ? "-" + digits : digits;
}

// Like repr(), with at most this number of digits.
std::string short_real(double value, int precision) {
  const std::string scientific = fmt::format("{:.{}e}", value, std::max(precision, 1) - 1);
  const std::size_t mark = scientific.find('e');
  if (mark == scientific.npos) return scientific;  // inf, nan
  const int exponent = std::stoi(scientific.substr(mark + 1));
  std::string text = fmt::format("{:.{}g}", value, precision);
  if (exponent >= -4 && exponent < precision - 1) return text.find('.') == text.npos ? text + ".0" : text;
  std::string digits = scientific.substr(0, mark);
  if (digits.find('.') != digits.npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
  }
  return digits + scientific.substr(mark);
}

std::string number_text(const Value& value, const Specification& wanted) {
  const bool is_real = value.is(Value::Kind::real);
  char type = wanted.type == 0 ? (is_real ? 'r' : 'd') : wanted.type;
  if (type == 'n') type = is_real ? 'g' : 'd';
  const int precision = std::min(wanted.precision.value_or(6), 100);
  std::string text;
  switch (type) {
    case 'd':
    case 'i':
    case 'u':
      text = integer_text(
          is_real && wanted.is_percent ? Integer(std::trunc(value.to_number())) : value.to_large_integer(),
          wanted);
      break;
    case 'x':
    case 'X':
    case 'o':
    case 'b':
      text = integer_text(value.to_large_integer(), wanted);
      break;
    case 'f':
    case 'F':
      text = fmt::format("{:.{}f}", value.to_number(), precision);
      break;
    case 'e':
      text = fmt::format("{:.{}e}", value.to_number(), precision);
      break;
    case 'E':
      text = fmt::format("{:.{}E}", value.to_number(), precision);
      break;
    case 'g':
      text = fmt::format("{:.{}g}", value.to_number(), precision);
      break;
    case 'G':
      text = fmt::format("{:.{}G}", value.to_number(), precision);
      break;
    case '%':
      text = fmt::format("{:.{}f}%", value.to_number() * 100, precision);
      break;
    case 'r':
      text = wanted.precision ? short_real(value.to_number(), precision) : to_text(value);
      break;
    default:
      fail("expected a number format, found '{}'", type);
  }
  if (wanted.sign != '-' && !text.starts_with('-')) text.insert(0, 1, wanted.sign);
  return wanted.group != 0 ? with_groups(std::move(text), wanted) : text;
}

std::string cut_to(const std::string& text, std::optional<int> precision) {
  return precision ? slice_of(text, {}, std::int64_t{*precision}, {}).text() : text;
}

std::string character_text(const Value& value) {
  if (value.is_string() && length_of(value) == 1) return value.text();
  std::string text;
  append_utf8(text, static_cast<char32_t>(std::clamp<std::int64_t>(value.to_integer(), 0, 0x10FFFF)));
  return text;
}

// 'r': repr(value), 'a': ascii(value), other conversions: str(value).
std::string converted(const Value& value, char conversion) {
  if (conversion != 'r' && conversion != 'a') return to_text(value);
  std::string text;
  for (const char32_t c : decode_utf8(to_repr(value))) {
    const auto code = static_cast<std::uint32_t>(c);
    if (conversion == 'r' || code < 0x80)
      append_utf8(text, c);
    else
      text += code < 0x100     ? fmt::format("\\x{:02x}", code)
              : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                               : fmt::format("\\U{:08x}", code);
  }
  return text;
}

std::string formatted(const Value& value, Specification wanted) {
  const bool has_own_text =
      wanted.is_percent && (wanted.type == 's' || wanted.type == 'r' || wanted.type == 'a');
  if (has_own_text || (!wanted.is_percent && value.is_string() && (wanted.type == 0 || wanted.type == 's'))) {
    const std::string text = converted(value, wanted.type);
    if (wanted.zeros && !wanted.is_percent) wanted.fill = "0";
    return padded(cut_to(text, wanted.precision), wanted, wanted.align != 0 ? wanted.align : '<');
  }
  if (wanted.type == 'c')
    return padded(character_text(value), wanted, wanted.align != 0 ? wanted.align : '<');
  if (!value.is_number())
    fail("expected a value for the format '{}', found {}", wanted.type == 0 ? ' ' : wanted.type,
         value.type());
  if (wanted.zeros && (wanted.align == 0 || (wanted.is_percent && wanted.align == '>'))) {
    wanted.fill = "0";
    wanted.align = '=';
  }
  return padded(number_text(value, wanted), wanted, wanted.align != 0 ? wanted.align : '>');
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
  if (at < text.size() && text[at] == '#') {
    wanted.alternate = true;
    ++at;
  }
  wanted.zeros = at < text.size() && text[at] == '0';
  wanted.width = read_count(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) wanted.group = text[at++];
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

namespace {

// `automatic`: the place of the next field without a name.
std::string format_fields(std::string_view format, const Arguments& arguments, std::size_t& automatic) {
  std::string result;
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
    std::size_t end = at + 1;  // a specification may contain fields
    for (int open = 1; end < format.size(); ++end)
      if ((open += format[end] == '{' ? 1 : format[end] == '}' ? -1 : 0) == 0) break;
    if (c == '}' || end >= format.size())
      fail("expected '{{' and '}}' in pairs in a format string, found '{}'", format);
    std::string_view field = format.substr(at + 1, end - at - 1);
    std::string wanted;
    if (const std::size_t colon = field.find(':'); colon != field.npos) {
      wanted = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    const std::size_t mark = field.find('!');
    Value value = read_field(field.substr(0, mark), arguments, automatic);
    if (mark != field.npos) {
      if (field.size() != mark + 2) fail("expected !s, !r or !a in a format string, found '{}'", field);
      value = converted(value, field.back());
    }
    if (wanted.find('{') != wanted.npos) {
      if (field.find('{') != field.npos) fail("expected a name in a format string, found '{}'", field);
      wanted = format_fields(wanted, arguments, automatic);
    }
    result += wanted.empty() ? to_text(value) : formatted(value, read_specification(wanted));
    check_size(result.size());
    at = end;
  }
  return result;
}

}  // namespace

std::string format_braces(const std::string& format, const Arguments& arguments) {
  std::size_t automatic = 0;
  return format_fields(format, arguments, automatic);
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
    wanted.is_percent = true;
    for (; at < format.size() && std::string_view("-+ 0#").find(format[at]) != std::string_view::npos; ++at) {
      if (format[at] == '-') wanted.align = '<';
      if (format[at] == '+' || (format[at] == ' ' && wanted.sign != '+')) wanted.sign = format[at];
      if (format[at] == '0') wanted.zeros = true;
      if (format[at] == '#') wanted.alternate = true;
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
