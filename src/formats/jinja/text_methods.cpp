#include "formats/jinja/text_methods.h"

#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/methods.h"
#include "formats/jinja/operators.h"
#include "formats/jinja/text_cases.h"

#include <algorithm>

namespace attend::jinja {
namespace {

// str.isdigit() and similar: true for every character, and at least one.
template <bool (*holds)(char32_t)>
Value all_are(const Value& value, const Arguments&) {
  const std::u32string text = decode_utf8(value.text());
  return !text.empty() && std::ranges::all_of(text, holds);
}

// str.isupper() and str.islower(): true for all letters with case, and at least one.
template <bool (*holds)(char32_t), bool (*opposite)(char32_t)>
Value cased(const Value& value, const Arguments&) {
  const std::u32string text = decode_utf8(value.text());
  return std::ranges::any_of(text, holds) && std::ranges::none_of(text, opposite);
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

const std::string& first_text(const Arguments& arguments, std::string_view name) {
  return arguments.get(0, name).to_string();
}
std::int64_t count_argument(const Arguments& arguments, std::string_view name) {
  const Value* count = arguments.find(1, name);
  return count == nullptr ? -1 : count->to_integer();
}
Value none_or(const Value* value) {
  return value == nullptr || value->is_none() ? Value() : *value;
}

template <bool front, bool end>
Value strip_method(const Value& value, const Arguments& arguments) {
  return stripped(value.text(), none_or(arguments.find(0, "chars")), front, end);
}

// Splits at white space; `max` < 0: everywhere. The rest keeps its white space.
List split_at_space(std::string_view text, std::int64_t max, bool from_end) {
  std::vector<std::string_view> words = split_words(text);
  List parts;
  if (max < 0 || static_cast<std::size_t>(max) >= words.size()) {
    for (const std::string_view word : words) parts.emplace_back(word);
    return parts;
  }
  const auto count = static_cast<std::size_t>(max);
  if (from_end) {
    const std::string_view edge = words[words.size() - count - 1];
    const std::string_view rest =
        text.substr(0, static_cast<std::size_t>(edge.data() + edge.size() - text.data()));
    parts.emplace_back(rest);
    for (std::size_t i = words.size() - count; i < words.size(); ++i) parts.emplace_back(words[i]);
    return parts;
  }
  for (std::size_t i = 0; i < count; ++i) parts.emplace_back(words[i]);
  parts.emplace_back(text.substr(static_cast<std::size_t>(words[count].data() - text.data())));
  return parts;
}

template <bool from_end>
Value split_method(const Value& value, const Arguments& arguments) {
  const std::string& text = value.text();
  const Value separator = none_or(arguments.find(0, "sep"));
  std::int64_t max = count_argument(arguments, "maxsplit");
  if (separator.is_none()) return Value::sequence(split_at_space(text, max, from_end));
  const std::string& by = separator.to_string();
  if (by.empty()) fail("empty separator");
  List parts;
  std::size_t begin = 0, end = text.size();
  for (; max != 0; --max) {
    const std::size_t found =
        from_end ? (end < by.size() ? text.npos : text.rfind(by, end - by.size())) : text.find(by, begin);
    if (found == text.npos) break;
    if (from_end) {
      parts.emplace_back(text.substr(found + by.size(), end - found - by.size()));
      end = found;
    } else {
      parts.emplace_back(text.substr(begin, found - begin));
      begin = found + by.size();
    }
  }
  parts.emplace_back(text.substr(begin, end - begin));
  if (from_end) std::ranges::reverse(parts);
  return Value::sequence(std::move(parts));
}

Value split_lines(const Value& value, const Arguments& arguments) {
  const Value* keep = arguments.find(0, "keepends");
  List lines;
  for (const std::string& line : lines_of(value.text(), keep != nullptr && is_true(*keep)))
    lines.emplace_back(line);
  return Value::sequence(std::move(lines));
}

template <bool from_end>
Value partition(const Value& value, const Arguments& arguments) {
  const std::string &text = value.text(), &by = first_text(arguments, "sep");
  if (by.empty()) fail("empty separator");
  const std::size_t found = from_end ? text.rfind(by) : text.find(by);
  if (found == text.npos)
    return Value::sequence(from_end ? List{"", "", text} : List{text, "", ""}, Value::Form::tuple);
  return Value::sequence({text.substr(0, found), by, text.substr(found + by.size())}, Value::Form::tuple);
}

// The part of the text that startswith(x, begin, end) and find(x, begin, end) read.
std::string part_of(const Value& value, const Arguments& arguments) {
  if (arguments.values.size() < 2) return value.text();
  return slice_of(value, arguments.values[1], none_or(arguments.find(2, "end")), {}).text();
}

template <bool at_end>
Value begins_or_ends(const Value& value, const Arguments& arguments) {
  const std::string text = part_of(value, arguments);
  const auto holds = [&](const Value& each) {
    return at_end ? text.ends_with(each.to_string()) : text.starts_with(each.to_string());
  };
  const Value& wanted = arguments.get(0, at_end ? "suffix" : "prefix");
  if (wanted.is_string()) return holds(wanted);
  const bool is_tuple = wanted.is_list_or_tuple() && wanted.sequence().form == Value::Form::tuple;
  if (!is_tuple || !std::ranges::all_of(wanted.items(), &Value::is_string))
    fail("expected a text or a tuple of texts, found {}", to_repr(wanted));
  return std::ranges::any_of(wanted.items(), holds);
}

template <bool from_end, bool must>
Value find_method(const Value& value, const Arguments& arguments) {
  const std::string text = part_of(value, arguments);
  const std::size_t found =
      from_end ? text.rfind(first_text(arguments, "sub")) : text.find(first_text(arguments, "sub"));
  if (found == text.npos) {
    if (must) fail("substring not found");
    return std::int64_t{-1};
  }
  const auto skipped = length_of(value) - length_of(Value(text));
  const bool cut_front = arguments.values.size() > 1 && arguments.values.size() < 3;
  std::size_t before = cut_front ? skipped : 0;
  if (arguments.values.size() > 2) {
    const std::int64_t begin = arguments.values[1].is_none() ? 0 : arguments.values[1].to_integer();
    const auto size = static_cast<std::int64_t>(length_of(value));
    before = static_cast<std::size_t>(std::clamp(begin < 0 ? begin + size : begin, std::int64_t{0}, size));
  }
  return static_cast<std::int64_t>(before + decode_utf8(std::string_view(text).substr(0, found)).size());
}

Value count_method(const Value& value, const Arguments& arguments) {
  const std::string text = part_of(value, arguments), &wanted = first_text(arguments, "sub");
  if (wanted.empty()) return static_cast<std::int64_t>(decode_utf8(text).size() + 1);
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = text.find(wanted, at)) != text.npos; at += wanted.size()) ++count;
  return count;
}

Value replace_method(const Value& value, const Arguments& arguments) {
  const Value* count = arguments.find(2, "count");
  return replaced(value.text(), first_text(arguments, "old"), arguments.get(1, "new").to_string(),
                  count == nullptr ? -1 : count->to_integer());
}

Value join_method(const Value& value, const Arguments& arguments) {
  std::string text;
  bool first = true;
  for (const Value& each : items_of(arguments.get(0, "iterable"))) {
    if (!first) text += value.text();
    first = false;
    text += each.to_string();
    check_size(text.size());
  }
  return text;
}

template <bool front>
Value remove_method(const Value& value, const Arguments& arguments) {
  const std::string &text = value.text(), &cut = first_text(arguments, front ? "prefix" : "suffix");
  if (front) return text.starts_with(cut) ? text.substr(cut.size()) : text;
  return text.ends_with(cut) ? text.substr(0, text.size() - cut.size()) : text;
}

// `fill`: the padding of Python's methods, which is one character.
std::string times(const std::string& fill, std::size_t count) {
  if (length_of(fill) != 1) fail("The fill character must be exactly one character long");
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fill;
  return text;
}

template <char align>
Value pad_method(const Value& value, const Arguments& arguments) {
  const std::int64_t width = arguments.get(0, "width").to_integer();
  const std::string fill = arguments.values.size() > 1 ? arguments.values[1].to_string()
                           : align == '0'              ? "0"
                                                       : " ";
  const auto missing = width - static_cast<std::int64_t>(length_of(value));
  if (missing <= 0) return value;
  checked_product(static_cast<std::size_t>(missing), fill.size());
  const std::string padding = times(fill, static_cast<std::size_t>(missing));
  std::string text = value.text();
  if (align == '0' && (text.starts_with('-') || text.starts_with('+')))
    return text.substr(0, 1) + padding + text.substr(1);
  return align == '<' ? text + padding : padding + text;
}

template <std::string (*change)(const std::string&)>
Value changed(const Value& value, const Arguments&) {
  return change(value.text());
}
std::string lowered(const std::string& text) {
  return lowercase(std::string_view(text));
}
Value center_method(const Value& value, const Arguments& arguments) {
  const std::string fill = arguments.values.size() > 1 ? arguments.values[1].to_string() : " ";
  return centered(value.text(), arguments.get(0, "width").to_integer(), fill);
}
Value expand_tabs(const Value& value, const Arguments& arguments) {
  const Value* given = arguments.find(0, "tabsize");
  const std::int64_t size = given == nullptr ? 8 : given->to_integer();
  std::string result;
  std::int64_t column = 0;
  for (const char32_t c : decode_utf8(value.text())) {
    if (c != U'\t') {
      append_utf8(result, c);
      column = c == U'\n' || c == U'\r' ? 0 : column + 1;
      continue;
    }
    const std::int64_t spaces = size > 0 ? size - column % size : 0;
    check_size(static_cast<std::size_t>(spaces) + result.size());
    result.append(static_cast<std::size_t>(spaces), ' ');
    column += spaces;
  }
  return result;
}

// Letters after others are lowercase, all others are uppercase.
Value is_title(const Value& value, const Arguments&) {
  bool any = false;
  for (const char32_t c : decode_utf8(value.text())) any = any || is_upper(c) || is_lower(c);
  return any && title_case(value.text()) == value.text();
}

Value is_identifier(const Value& value, const Arguments&) {
  const std::u32string text = decode_utf8(value.text());
  return !text.empty() && !is_decimal(text[0]) &&
         std::ranges::all_of(text, [](char32_t c) { return c == U'_' || is_letter(c) || is_decimal(c); });
}

Value is_printable(const Value& value, const Arguments&) {
  return std::ranges::none_of(decode_utf8(value.text()),
                              [](char32_t c) { return c != U' ' && (is_other(c) || is_space(c)); });
}

Value format_map(const Value& value, const Arguments& arguments) {
  Arguments named;
  const Value& given = arguments.get(0, "mapping");
  if (!given.is(Value::Kind::dict)) fail("expected a mapping, found {}", to_repr(given));
  for (const auto& [name, each] : given.dict())
    if (name.is_string()) named.named.emplace_back(name.text(), each);
  return format_braces(value.text(), named);
}

Value format_method(const Value& value, const Arguments& arguments) {
  return format_braces(value.text(), arguments);
}

}  // namespace

const std::map<std::string_view, Value (*)(const Value&, const Arguments&)>& text_methods() {
  static const std::map<std::string_view, Value (*)(const Value&, const Arguments&)> methods = {
      {"capitalize", changed<capitalized>},
      {"casefold", changed<case_folded>},
      {"center", center_method},
      {"count", count_method},
      {"endswith", begins_or_ends<true>},
      {"expandtabs", expand_tabs},
      {"find", find_method<false, false>},
      {"format", format_method},
      {"format_map", format_map},
      {"index", find_method<false, true>},
      {"isalnum", all_are<is_alphanumeric>},
      {"isalpha", all_are<is_letter>},
      {"isascii", all_are<is_ascii>},
      {"isdecimal", all_are<is_decimal>},
      {"isdigit", all_are<is_decimal>},
      {"isidentifier", is_identifier},
      {"islower", cased<is_lower, is_upper>},
      {"isnumeric", all_are<is_numeral>},
      {"isprintable", is_printable},
      {"isspace", all_are<is_space>},
      {"istitle", is_title},
      {"isupper", cased<is_upper, is_lower>},
      {"join", join_method},
      {"ljust", pad_method<'<'>},
      {"lower", changed<lowered>},
      {"lstrip", strip_method<true, false>},
      {"partition", partition<false>},
      {"removeprefix", remove_method<true>},
      {"removesuffix", remove_method<false>},
      {"replace", replace_method},
      {"rfind", find_method<true, false>},
      {"rindex", find_method<true, true>},
      {"rjust", pad_method<'>'>},
      {"rpartition", partition<true>},
      {"rsplit", split_method<true>},
      {"rstrip", strip_method<false, true>},
      {"split", split_method<false>},
      {"splitlines", split_lines},
      {"startswith", begins_or_ends<false>},
      {"strip", strip_method<true, true>},
      {"swapcase", changed<swapped_case>},
      {"title", changed<title_case>},
      {"upper", changed<uppercase>},
      {"zfill", pad_method<'0'>}};
  return methods;
}

std::string stripped(const std::string& text, const Value& characters, bool front, bool end) {
  const std::u32string given = decode_utf8(text);
  const std::u32string unwanted = characters.is_none() ? U"" : decode_utf8(characters.to_string());
  const auto goes = [&](char32_t c) {
    return characters.is_none() ? is_space(c) : unwanted.find(c) != unwanted.npos;
  };
  std::size_t first = 0, last = given.size();
  while (front && first < last && goes(given[first])) ++first;
  while (end && last > first && goes(given[last - 1])) --last;
  return encoded(std::u32string_view(given).substr(first, last - first));
}

std::vector<std::string> lines_of(const std::string& text, bool keep_ends) {
  constexpr std::u32string_view kEnds = U"\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029";
  const std::u32string characters = decode_utf8(text);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < characters.size();) {
    const std::size_t end = std::min(characters.find_first_of(kEnds, begin), characters.size());
    const std::size_t next =
        std::min(end + (characters.compare(end, 2, U"\r\n") == 0 ? 2 : 1), characters.size());
    lines.push_back(encoded(std::u32string_view(characters).substr(begin, (keep_ends ? next : end) - begin)));
    begin = next;
  }
  return lines;
}

std::int64_t count_words(const std::string& text) {
  std::int64_t count = 0;
  bool inside = false;
  for (const char32_t c : decode_utf8(text)) {
    if (is_word(c) && !inside) ++count;
    inside = is_word(c);
  }
  return count;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to,
                     std::int64_t count) {
  std::string result;
  std::size_t at = 0;
  for (; count != 0; --count) {
    std::size_t found = text.find(from, at), keep = 0;
    if (from.empty()) {  // before every character, and at the end
      if (at > text.size()) break;
      found = at;
      keep = at < text.size() ? decode_utf8(text, at).size : 1;
    }
    if (found == text.npos) break;
    result += text.substr(at, found - at) + to;
    if (at < text.size()) result += text.substr(found, keep);
    at = found + from.size() + keep;
    check_size(result.size());
  }
  if (at < text.size()) result += text.substr(at);
  return result;
}

std::string centered(const std::string& text, std::int64_t width, const std::string& fill) {
  const std::int64_t missing = width - static_cast<std::int64_t>(decode_utf8(text).size());
  if (missing <= 0) return text;
  checked_product(static_cast<std::size_t>(missing), fill.size());
  // If the width is odd, Python puts the odd space before the text.
  const auto before = static_cast<std::size_t>(missing / 2 + (missing & width & 1));
  return times(fill, before) + text + times(fill, static_cast<std::size_t>(missing) - before);
}

}  // namespace attend::jinja
