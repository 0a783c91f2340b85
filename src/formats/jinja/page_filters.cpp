// Filters for HTML, URLs and values to be read by people.
#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/filters.h"
#include "formats/jinja/pretty_print.h"
#include "formats/jinja/text_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace attend::jinja {
namespace {

// The HTML entities from U+00A0 on, in order.
constexpr std::string_view kLatinEntities[] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",
    "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",
    "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12",
    "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil",
    "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde",
    "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",
    "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",
    "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",
    "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};
constexpr std::pair<std::string_view, char32_t> kOtherEntities[] = {
    {"amp", U'&'}, {"AMP", U'&'},  {"lt", U'<'},   {"LT", U'<'},        {"gt", U'>'},
    {"GT", U'>'},  {"quot", U'"'}, {"QUOT", U'"'}, {"COPY", U'\u00a9'}, {"REG", U'\u00ae'}};

// Of these entities HTML allows the name without a semicolon.
std::optional<char32_t> entity_named(std::string_view name) {
  if (const auto found = std::ranges::find(kLatinEntities, name); found != std::end(kLatinEntities))
    return static_cast<char32_t>(0xa0 + (found - std::begin(kLatinEntities)));
  for (const auto& [known, character] : kOtherEntities)
    if (known == name) return character;
  return std::nullopt;
}

// A number after "&#", read as browsers do: the numbers of control characters mean those of Windows.
std::u32string numbered_entity(std::string_view digits) {
  constexpr std::array<char32_t, 32> kWindows = {
      U'\u20ac', 0x81,      U'\u201a', U'\u0192', U'\u201e', U'\u2026', U'\u2020', U'\u2021',
      U'\u02c6', U'\u2030', U'\u0160', U'\u2039', U'\u0152', 0x8d,      U'\u017d', 0x8f,
      0x90,      U'\u2018', U'\u2019', U'\u201c', U'\u201d', U'\u2022', U'\u2013', U'\u2014',
      U'\u02dc', U'\u2122', U'\u0161', U'\u203a', U'\u0153', 0x9d,      U'\u017e', U'\u0178'};
  const bool hexadecimal = digits.starts_with('x') || digits.starts_with('X');
  if (hexadecimal) digits.remove_prefix(1);
  std::uint32_t code = 0;
  for (const char c : digits) {
    const auto digit =
        static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);  // | 0x20: lowercase
    code = std::min<std::uint32_t>(code * (hexadecimal ? 16 : 10) + digit, 0x110000);
  }
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return U"\ufffd";
  if (code >= 0x80 && code < 0xa0) return {kWindows[code - 0x80]};
  const bool is_control = (code < 0x20 && code != '\t' && code != '\n' && code != '\f' && code != '\r') ||
                          code == 0x7f || (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe;
  return is_control ? U"" : std::u32string(1, static_cast<char32_t>(code));
}

// The text without HTML's entities. Throws Error for a name beyond Latin-1, because it may be one of the two
// thousand that html.unescape() knows.
std::string unescaped(const std::string& text) {
  std::string result;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hexadecimal = [&](char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
  const auto run = [&](std::size_t begin, const auto& holds) {
    std::size_t end = begin;
    while (end < text.size() && holds(text[end])) ++end;
    return end;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '&') {
      result += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    std::u32string made;
    if (text.compare(at, 2, "&#") == 0) {
      const bool x = at + 2 < text.size() && (text[at + 2] | 0x20) == 'x';
      end = x ? run(at + 3, is_hexadecimal) : run(at + 2, is_digit);
      if (end > at + (x ? 3U : 2U))
        made = numbered_entity(std::string_view(text).substr(at + 2, end - at - 2));
      else
        end = at;
    } else {
      end =
          run(at + 1, [&](char c) { return is_hexadecimal(c) || ((c | 0x20) >= 'g' && (c | 0x20) <= 'z'); });
      const bool closed = end < text.size() && text[end] == ';';
      const std::string name = text.substr(at + 1, end - at - 1);
      if (closed && name == "apos")
        made = U"'";
      else if (const auto whole = entity_named(name))
        made = {*whole};
      else if (closed && !name.empty())
        fail("expected an HTML entity of Latin-1, found '&{};'", name);
      for (; made.empty() && end > at + 1; --end)
        if (const auto start = entity_named(name.substr(0, end - at - 1))) {
          made = {*start};
          break;
        }
      if (made.empty()) end = at;
    }
    if (end == at) {
      result += text[at++];
      continue;
    }
    result += encoded(made);
    at = end + (end < text.size() && text[end] == ';' ? 1 : 0);
  }
  return result;
}

// Without comments and tags; runs of white space become one space.
Value striptags_filter(const Value& value, const Arguments&) {
  const std::string text = to_text(value);
  std::string kept;
  std::size_t at = 0;
  for (std::size_t begin; (begin = text.find('<', at)) != text.npos;) {
    const bool comment = text.compare(begin, 4, "<!--") == 0;
    const std::size_t end = comment ? text.find("-->", begin + 4) : text.find('>', begin);
    if (end == text.npos) break;
    kept += text.substr(at, begin - at);
    at = end + (comment ? 3 : 1);
  }
  kept += text.substr(at);
  return unescaped(fmt::format("{}", fmt::join(split_words(kept), " ")));
}

std::string url_quoted(const Value& value, bool query) {
  std::string quoted;
  for (const char c : to_text(value)) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !query);
    if (safe)
      quoted += c;
    else if (c == ' ' && query)
      quoted += '+';
    else
      quoted += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  check_size(quoted.size());
  return quoted;
}

// A string, or the pairs of a query.
Value urlencode_filter(const Value& value, const Arguments&) {
  List pairs;
  if (value.is(Value::Kind::dict)) {
    for (const auto& [key, each] : value.dict()) pairs.push_back(Value::sequence({key, each}));
  } else if (value.is(Value::Kind::sequence) || value.is_undefined()) {
    pairs = items_of(value);
  } else {
    return url_quoted(value, false);
  }
  std::string query;
  for (const Value& pair : pairs) {
    const List parts = items_of(pair);
    if (parts.size() != 2) fail("expected pairs for a query, found {}", to_repr(pair));
    query += (query.empty() ? "" : "&") + url_quoted(parts[0], true) + "=" + url_quoted(parts[1], true);
    check_size(query.size());
  }
  return query;
}

// Attributes of an HTML tag: ' name="value"'.
Value xmlattr_filter(const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) fail("{}", value.undefined().message);
  if (!value.is(Value::Kind::dict)) fail("expected a mapping of attributes, found {}", to_repr(value));
  const auto text_of = [](const Value& each) {
    return each.is_markup() ? each.text() : escaped(to_text(each));
  };
  std::string attributes;
  for (const auto& [key, each] : value.dict()) {
    if (each.is_none() || each.is_undefined()) continue;
    if (!key.is_string()) fail("expected the name of an attribute, found {}", to_repr(key));
    if (std::ranges::any_of(decode_utf8(key.text()),
                            [](char32_t c) { return is_space(c) || c == U'/' || c == U'>' || c == U'='; }))
      fail("invalid character in attribute name: {}", to_repr(key));
    attributes += (attributes.empty() ? "" : " ") + text_of(key) + "=\"" + text_of(each) + "\"";
    check_size(attributes.size());
  }
  const Value* space = arguments.find(0, "autospace");
  return (!attributes.empty() && (space == nullptr || is_true(*space)) ? " " : "") + attributes;
}

// 1 Byte, 12 Bytes, 3.4 kB.
Value filesizeformat_filter(const Value& value, const Arguments& arguments) {
  const Value* base_two = arguments.find(0, "binary");
  const bool binary = base_two != nullptr && is_true(*base_two);
  const double base = binary ? 1024 : 1000;
  const double bytes = apply_filter("float", value, {{Value(std::nan(""))}, {}}).to_number();
  if (std::isnan(bytes)) fail("could not convert {} to float", to_repr(value));
  if (bytes == 1) return "1 Byte";
  if (bytes < base) return to_text(Integer(std::trunc(bytes))) + " Bytes";
  double unit = base;
  std::size_t prefix = 0;
  for (; prefix < 7 && bytes >= unit * base; ++prefix) unit *= base;
  return fmt::format("{:.1f} {}{}", bytes / unit, (binary ? "KMGTPEZY" : "kMGTPEZY")[prefix],
                     binary ? "iB" : "B");
}

}  // namespace

const std::vector<NamedFilter>& page_filters() {
  static const std::vector<NamedFilter> filters = {
      {"filesizeformat", filesizeformat_filter},
      {"pprint", [](const Value& value, const Arguments&) { return Value(pretty_printed(value)); }},
      {"striptags", striptags_filter},
      {"urlencode", urlencode_filter},
      {"xmlattr", xmlattr_filter}};
  return filters;
}

}  // namespace attend::jinja
