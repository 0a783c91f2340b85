#include "data/labeled_texts.h"

#include "base/error.h"
#include "base/log.h"
#include "data/lines.h"
#include "data/table_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace attend {
namespace {

const std::vector<std::vector<std::string>> kTextLabel = {{"text", "label"}, {"text", "pair", "label"}};

std::string text_of(const Fields& row, std::string_view role) {
  std::string text = row.text({role});
  if (trimmed(text).empty()) fail("{}: {} is empty", row.source(), role);
  return text;
}

LabeledText texts_of(const Fields& row) {
  LabeledText result;
  result.place = row.source();
  result.text = text_of(row, "text");
  if (row.has({"pair"})) result.pair = text_of(row, "pair");
  return result;
}

double number_of(const Json& value, const Fields& row) {
  std::optional<double> number;
  if (value.is_number())
    number = value.get<double>();
  else if (value.is_string())
    number = number_in(value.get_ref<const std::string&>());
  if (!number || !std::isfinite(*number)) fail("{}: expected a number, found {}", row.source(), shown(value));
  return *number;
}

// The list of labels in a row: JSON's, or a cell with a list, a label or nothing.
Json list_of(const Fields& row) {
  const Json& value = row.json().at("labels");
  if (value.is_array()) return value;
  if (!value.is_string()) return Json::array({value});
  const std::string_view cell = trimmed(value.get_ref<const std::string&>());
  if (cell.empty()) return Json::array();
  if (!cell.starts_with('[')) return Json::array({value});
  Json list = parse_json(cell, row.source());
  if (!list.is_array()) fail("{}: expected a list of labels, found {}", row.source(), shown(list));
  return list;
}

bool are_numbers(const Json& list) {  // one for each label
  return std::ranges::any_of(list,
                             [](const Json& item) { return item.is_number_float() || item.is_boolean(); });
}

// Lists of 0 and 1 have one number for each label if all have the same length and one of them repeats a
// number.
bool are_flags(const std::vector<Json>& lists) {
  bool repeats = false;
  for (const Json& list : lists) {
    std::size_t ones = 0, zeros = 0;
    for (const Json& item : list) {
      ones += item == 1;
      zeros += item == 0;
    }
    if (list.size() != lists.front().size() || ones + zeros != list.size()) return false;
    repeats |= ones > 1 || zeros > 1;
  }
  return repeats;
}

// The labels with value 1 in an object of 0 and 1 by label name; adds all names to `all`.
Json flagged_labels(const Json& flags, const std::string& place, std::vector<std::string>& all) {
  Json labels = Json::array();
  for (const auto& [name, value] : flags.items()) {
    const bool one = value == 1 || value == true;
    if (!one && value != 0 && value != false)
      fail("{}: labels: {}: expected 0 or 1, found {}", place, name, shown(value));
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
    if (one) labels.push_back(name);
  }
  return labels;
}

// A list of names or of numbers. `count`: how many numbers earlier rows have.
Json checked_list(Json list, const std::string& place, std::optional<std::size_t>& count) {
  for (const Json& item : list)
    if (item.is_number_float() ? !std::isfinite(item.get<double>())
                               : label_name(item, place).empty())  // else throws Error
      fail("{}: expected a number, found {}", place, shown(item));
  if (!are_numbers(list)) return list;
  for (const Json& item : list)
    if (item.is_string()) fail("{}: expected names or numbers, found both", place);
  if (count.value_or(list.size()) != list.size())
    fail("{}: expected {} numbers, as in the rows before, found {}", place, *count, list.size());
  count = list.size();
  return list;
}

// A row's numbers, if some rows have numbers.
std::vector<double> numbers_of(const Json& list, std::optional<std::size_t> count, const std::string& file) {
  if (count && list.size() != *count)
    fail("{}: expected either names of labels or {} numbers in every row, found {}", file, *count,
         shown(list));
  std::vector<double> numbers;
  for (const Json& item : list) {
    if (item.is_string())
      fail("{}: expected numbers in every row, as some have, found {}", file, shown(list));
    numbers.push_back(item.is_boolean() ? item.get<bool>() : item.get<double>());
  }
  return numbers;
}

std::vector<std::string> split_label(std::string_view label, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= label.size();) {
    const std::size_t end = std::min(label.find(separator, begin), label.size());
    if (const std::string_view part = trimmed(label.substr(begin, end - begin)); !part.empty())
      parts.emplace_back(part);
    begin = end + 1;
  }
  return parts;
}

// A cell "x,y" is one label, which is seldom intended. A space belongs to a label's name unless its words
// also occur as cells.
void warn_of_joined_labels(const std::string& file, const std::set<std::string>& cells) {
  for (const std::string& label : cells)
    for (const char separator : {',', ';', '|', ' '}) {
      const std::vector<std::string> parts = split_label(label, separator);
      if (parts.size() < 2) continue;
      if (separator == ' ' &&
          !std::ranges::all_of(parts, [&](const auto& part) { return cells.contains(part); }))
        continue;
      warn("{}: {} is read as one label; several are written as a list, {}", file, shown(Json(label)),
           shown(Json(parts)));
      return;
    }
}

std::vector<TextPair> read_text_pairs(const std::vector<std::string>& files, const TableOptions& options,
                                      const TableLayout& layout) {
  std::vector<TextPair> rows;
  read_table(files, options, layout, [&](const Fields& row) {
    TextPair pair{text_of(row, "text"), text_of(row, "pair")};
    if (row.has({"score"})) pair.score = number_of(row.json().at("score"), row);
    rows.push_back(std::move(pair));
  });
  return rows;
}

}  // namespace

std::vector<LabeledText> read_classification(const std::vector<std::string>& files,
                                             const TableOptions& options) {
  std::vector<LabeledText> rows;
  read_table(files, options, {"a text and its label", kTextLabel}, [&](const Fields& row) {
    LabeledText text = texts_of(row);
    text.labels.push_back(label_name(row.json().at("label"), row.source()));
    rows.push_back(std::move(text));
  });
  return rows;
}

MultiLabelTexts read_multi_label(const std::vector<std::string>& files, const TableOptions& options) {
  MultiLabelTexts result;
  std::vector<Json> lists;           // of labels or numbers, one per row
  std::set<std::string> cells;       // cells that are a label
  std::optional<std::size_t> count;  // of numbers, if lists have numbers
  const TableLayout layout = {
      "a text and a list of labels", {{"text", "labels"}, {"text", "pair", "labels"}}, true};
  read_table(files, options, layout, [&](const Fields& row) {
    LabeledText text = texts_of(row);
    Json list = Json::array();
    const Json& value = row.json().at("labels");
    if (value.is_object())
      list = flagged_labels(value, row.source(), result.labels);
    else
      list = checked_list(list_of(row), row.source(), count);
    if (value.is_string() && list.size() == 1 && list.front() == value)
      cells.insert(value.get<std::string>());
    result.rows.push_back(std::move(text));
    lists.push_back(std::move(list));
  });
  const bool numbers = count || are_flags(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (numbers)
      result.rows[i].values = numbers_of(lists[i], count, files.front());
    else
      for (const Json& item : lists[i]) result.rows[i].labels.push_back(label_name(item, files.front()));
  }
  for (const std::string& name : label_names(result.rows))
    if (std::ranges::find(result.labels, name) == result.labels.end()) result.labels.push_back(name);
  warn_of_joined_labels(files.front(), cells);
  return result;
}

std::vector<LabeledText> read_regression(const std::vector<std::string>& files, const TableOptions& options) {
  std::vector<LabeledText> rows;
  const TableLayout layout = {"a text and a number", {{"text", "score"}, {"text", "pair", "score"}}};
  read_table(files, options, layout, [&](const Fields& row) {
    LabeledText text = texts_of(row);
    const Json& value = row.json().at("score");
    for (const Json& item : value.is_array() ? value : Json::array({value}))
      text.values.push_back(number_of(item, row));
    const std::size_t expected =
        rows.empty() ? std::max<std::size_t>(text.values.size(), 1) : rows.front().values.size();
    if (text.values.size() != expected)
      fail("{}: expected {} numbers, found {}", row.source(), expected, text.values.size());
    rows.push_back(std::move(text));
  });
  return rows;
}

std::vector<TextPair> read_pairs(const std::vector<std::string>& files, const TableOptions& options) {
  return read_text_pairs(files, options, {"two texts", {{"text", "pair"}}});
}

std::vector<TextPair> read_scored_pairs(const std::vector<std::string>& files, const TableOptions& options) {
  return read_text_pairs(files, options, {"a score and two texts", {{"score", "text", "pair"}}});
}

std::string label_name(const Json& value, const std::string& place) {
  if (value.is_number_integer()) return value.dump();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  const std::string name(value.is_string() ? trimmed(value.get_ref<const std::string&>()) : "");
  if (name.empty())
    fail("{}: expected a label, which is a name or an integer, found {}", place, shown(value));
  return name;
}

std::vector<std::string> label_names(const std::vector<LabeledText>& rows) {
  std::vector<std::string> names;
  for (const LabeledText& row : rows) names.insert(names.end(), row.labels.begin(), row.labels.end());
  return in_label_order(std::move(names));
}

std::vector<std::string> in_label_order(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto integer = [](const std::string& name) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return {};
    return number;
  };
  if (std::ranges::all_of(names, [&](const std::string& name) { return integer(name).has_value(); }))
    std::ranges::stable_sort(names, {}, [&](const std::string& name) { return *integer(name); });
  return names;
}

}  // namespace attend
