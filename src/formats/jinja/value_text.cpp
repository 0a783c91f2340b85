// Values as text: str(), repr() and json.dumps().
#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attend::jinja {
namespace {

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);  // the shortest form, with an exponent where Python writes one
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

std::string string_repr(const std::string& text) {
  const bool double_quotes = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char32_t quote = double_quotes ? U'"' : U'\'';
  std::string result(1, static_cast<char>(quote));
  for (const char32_t c : decode_utf8(text)) {
    const auto code = static_cast<std::uint32_t>(c);
    if (c == quote || c == U'\\')
      (result += '\\') += static_cast<char>(c);
    else if (c == U'\n')
      result += "\\n";
    else if (c == U'\r')
      result += "\\r";
    else if (c == U'\t')
      result += "\\t";
    else if (c < 0x20 || c == 0x7f || (c > 0x7f && c < 0x100 && (is_other(c) || is_space(c))))
      result += fmt::format("\\x{:02x}", code);
    else if (c > 0x7f && (is_other(c) || is_space(c)))
      result += c < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
    else
      append_utf8(result, c);
  }
  return result += static_cast<char>(quote);
}

std::string sequence_repr(const Value& value) {
  const Value::Form form = value.sequence().form;
  if (form == Value::Form::generator) return "<generator object>";
  std::string text = form == Value::Form::tuple ? "(" : form == Value::Form::view ? "dict_items([" : "[";
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    text += (i > 0 ? ", " : "") + to_repr(value.items()[i]);
    check_size(text.size());
  }
  if (form == Value::Form::tuple && value.items().size() == 1) text += ",";
  return text + (form == Value::Form::tuple ? ")" : form == Value::Form::view ? "])" : "]");
}

std::string json_string(const std::string& text, bool ascii) {
  std::string result = "\"";
  for (const char32_t c : decode_utf8(text)) {
    const auto code = static_cast<std::uint32_t>(c);
    if (c == U'"' || c == U'\\')
      (result += '\\') += static_cast<char>(c);
    else if (const auto at = std::u32string_view(U"\n\r\t\b\f").find(c); at != std::u32string_view::npos)
      (result += '\\') += "nrtbf"[at];
    else if (c < 0x20 || (ascii && c > 0x7e && c < 0x10000))
      result += fmt::format("\\u{:04x}", code);
    else if (ascii && c >= 0x10000)
      result += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    else
      append_utf8(result, c);
  }
  return result + '"';
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    check_size(text.size());
    switch (value.kind()) {
      case Value::Kind::none:
        text += "null";
        break;
      case Value::Kind::boolean:
      case Value::Kind::integer:
      case Value::Kind::real:
        text += number(value);
        break;
      case Value::Kind::string:
        text += json_string(value.text(), style_.ascii);
        break;
      case Value::Kind::dict:
        write_dict(value.dict());
        break;
      case Value::Kind::sequence:
        if (value.is_list_or_tuple()) {
          write_items('[', ']', value.items(), [&](const Value& each) { write(each); });
          break;
        }
        [[fallthrough]];
      default:
        fail("Object of type {} is not JSON serializable", value.type());
    }
  }

  std::string text;

 private:
  static std::string number(const Value& value) {
    if (value.is(Value::Kind::boolean)) return value.boolean() ? "true" : "false";
    const std::string text = to_text(value);
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
  }

  void write_dict(const Dict& dict) {
    Dict entries = dict;
    if (style_.sorted)
      std::ranges::stable_sort(entries, [](const auto& a, const auto& b) { return less(a.first, b.first); });
    write_items('{', '}', entries, [&](const auto& entry) {
      if (entry.first.is_number() || entry.first.is_none()) {
        text += '"' + (entry.first.is_none() ? "null" : number(entry.first)) + '"';
      } else {
        text += json_string(entry.first.to_string(), style_.ascii);
      }
      text += style_.colon;
      write(entry.second);
    });
  }

  template <class Items, class Write>
  void write_items(char open, char close, const Items& items, const Write& write_one) {
    text += open;
    ++depth_;
    bool first = true;
    for (const auto& each : items) {
      if (!first) text += style_.comma;
      first = false;
      break_line();
      write_one(each);
    }
    --depth_;
    if (!first) break_line();
    text += close;
  }

  void break_line() {
    if (!style_.indent) return;
    text += '\n';
    for (std::size_t i = 0; i < depth_; ++i) text += *style_.indent;
  }

  const JsonStyle& style_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string escaped(std::string text) {
  constexpr std::pair<const char*, const char*> kEscapes[] = {
      {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}};
  for (const auto& [from, to] : kEscapes) replace_all(text, from, to);
  return text;
}

std::string to_text(const Value& value) {
  if (value.is_undefined()) return "";
  return value.is_string() ? value.text() : to_repr(value);
}

std::string to_repr(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::undefined:
      return "Undefined";
    case Value::Kind::none:
      return "None";
    case Value::Kind::boolean:
      return value.boolean() ? "True" : "False";
    case Value::Kind::integer:
      return value.to_large_integer().str();
    case Value::Kind::real:
      return real_text(value.to_number());
    case Value::Kind::string:
      return string_repr(value.text());
    case Value::Kind::sequence:
      return sequence_repr(value);
    case Value::Kind::object:
      return "<" + value.type() + ">";
    case Value::Kind::dict:
      break;
  }
  std::string text = "{";
  for (const auto& [key, each] : value.dict()) {
    text += (text.size() > 1 ? ", " : "") + to_repr(key) + ": " + to_repr(each);
    check_size(text.size());
  }
  return text + "}";
}

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value);
  return std::move(writer.text);
}

}  // namespace attend::jinja
