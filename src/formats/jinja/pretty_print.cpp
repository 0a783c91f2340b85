#include "formats/jinja/pretty_print.h"

#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/jinja/methods.h"
#include "formats/jinja/text_cases.h"

#include <algorithm>

namespace attend::jinja {
namespace {

constexpr std::size_t kWidth = 80;

// The value with the keys of all dicts in order. Keys of different types are in the order of their types'
// names.
Value sorted_keys(const Value& value) {
  if (value.is_list_or_tuple()) {
    List items;
    for (const Value& each : value.items()) items.push_back(sorted_keys(each));
    return Value::sequence(std::move(items), value.sequence().form);
  }
  if (!value.is(Value::Kind::dict)) return value;
  Dict dict;
  for (const auto& [key, each] : value.dict()) dict.emplace_back(key, sorted_keys(each));
  std::ranges::stable_sort(dict, [](const auto& a, const auto& b) {
    const bool comparable = (a.first.is_number() && b.first.is_number()) || a.first.kind() == b.first.kind();
    return comparable ? less(a.first, b.first) : a.first.type() < b.first.type();
  });
  return dict;
}

std::size_t width_of(const std::string& text) {
  return decode_utf8(text).size();
}

class Printer {
 public:
  // `indent`: the column where the value begins; `after`: the characters that follow it on its last line.
  void print(const Value& value, std::size_t indent, std::size_t after, bool nested = true) {
    const std::string whole = to_repr(value);
    if (indent + after + width_of(whole) <= kWidth)
      text_ += whole;
    else if (value.is(Value::Kind::dict) && !value.dict().empty())
      print_dict(value.dict(), indent + 1, after + 1);
    else if (value.is_list_or_tuple())
      print_items(value, indent + 1, after);
    else if (value.is_string())
      print_string(value.text(), indent, after, nested);
    else
      text_ += whole;
    check_size(text_.size());
  }

  std::string take() { return std::move(text_); }

 private:
  void next_line(std::size_t indent) { text_ += "\n" + std::string(indent, ' '); }

  void print_dict(const Dict& dict, std::size_t indent, std::size_t after) {
    text_ += '{';
    for (const auto& entry : dict) {
      const bool last = &entry == &dict.back();
      const std::string key = to_repr(entry.first);
      text_ += key + ": ";
      print(entry.second, indent + width_of(key) + 2, last ? after : 1);
      if (last) break;
      text_ += ',';
      next_line(indent);
    }
    text_ += '}';
  }

  void print_items(const Value& value, std::size_t indent, std::size_t after) {
    const bool list = value.sequence().form == Value::Form::list;
    const List& items = value.items();
    const std::string end = list ? "]" : items.size() == 1 ? ",)" : ")";
    text_ += list ? '[' : '(';
    for (const Value& each : items) {
      const bool last = &each == &items.back();
      print(each, indent, last ? after + end.size() : 1);
      if (last) break;
      text_ += ',';
      next_line(indent);
    }
    text_ += end;
  }

  // A string as several, which Python joins: one for each line, and lines are split at white space. Only a
  // string that is not in a list or dict needs parentheses.
  void print_string(const std::string& text, std::size_t indent, std::size_t after, bool nested) {
    if (!nested) {
      ++indent;
      ++after;
    }
    const std::size_t width = kWidth > indent ? kWidth - indent : 0;
    const auto last_width = [&](bool last) { return last ? width - std::min(width, after) : width; };
    std::vector<std::string> chunks;
    const std::vector<std::string> lines = lines_of(text, true);
    for (const std::string& line : lines) {
      const bool last = &line == &lines.back();
      if (width_of(to_repr(line)) <= last_width(last)) {
        chunks.push_back(to_repr(line));
        continue;
      }
      const std::vector<std::string> words = words_of(line);
      std::string current;
      for (const std::string& word : words) {
        const bool fits = width_of(to_repr(current + word)) <= last_width(last && &word == &words.back());
        if (!fits && !current.empty()) chunks.push_back(to_repr(current));
        current = fits ? current + word : word;
      }
      if (!current.empty()) chunks.push_back(to_repr(current));
    }
    const bool encloses = !nested && chunks.size() > 1;
    if (encloses) text_ += '(';
    for (const std::string& chunk : chunks) {
      if (&chunk != chunks.data()) next_line(indent);
      text_ += chunk;
    }
    if (encloses) text_ += ')';
  }

  // Words, each with the white space after it.
  static std::vector<std::string> words_of(const std::string& text) {
    const std::u32string characters = decode_utf8(text);
    std::vector<std::string> words;
    for (std::size_t begin = 0, end = 0; begin < characters.size(); begin = end) {
      while (end < characters.size() && !is_space(characters[end])) ++end;
      while (end < characters.size() && is_space(characters[end])) ++end;
      words.push_back(encoded(std::u32string_view(characters).substr(begin, end - begin)));
    }
    return words;
  }

  std::string text_;
};

}  // namespace

std::string pretty_printed(const Value& value) {
  Printer printer;
  printer.print(sorted_keys(value), 0, 0, false);
  return printer.take();
}

}  // namespace attend::jinja
