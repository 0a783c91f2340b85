#include "data/table_header.h"

#include "base/error.h"
#include "base/utf8.h"
#include "data/lines.h"
#include "data/table_columns.h"

#include <algorithm>
#include <map>
#include <set>

namespace attend {
namespace {

// A few words of letters, digits and other characters of names, starting with a letter. Some programs write
// an empty name for the index column.
bool looks_like_name(std::string_view cell, bool may_be_empty) {
  constexpr std::size_t max_bytes = 40, max_spaces = 2;
  cell = trimmed(cell);
  if (cell.empty()) return may_be_empty;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<signed char>(c) < 0;
  };
  return cell.size() <= max_bytes && letter(cell.front()) &&
         std::ranges::count(cell, ' ') <= static_cast<std::ptrdiff_t>(max_spaces) &&
         std::ranges::all_of(cell, [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') ||
                  std::string_view(" -:()/#").find(c) != std::string_view::npos;
         });
}

bool looks_like_names(const Record& row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!looks_like_name(row[i], i == 0 && row.size() > 1)) return false;
  return std::set<std::string>(row.begin(), row.end()).size() == row.size();
}

bool has_known_names(const Record& row, const Columns& columns, const TableLayout& layout) {
  std::vector<std::string> names;
  for (const std::string& cell : row) names.push_back(ascii_lowercase(cell));
  const std::vector<std::string> roles = roles_of(layout);
  if (std::ranges::none_of(roles, is_label_role)) return has_text_pair(names);
  std::size_t texts = 0, labels = 0, both = 0;
  for (const std::string& name : names) {
    bool text = false, label = false;
    for (const std::string& role : roles)
      if (is_known_name(role, name)) (is_label_role(role) ? label : text) = true;
    texts += text;
    labels += label;
    both += text && label;
  }
  if (texts > 0 && labels > 0 && texts + labels > both + 1) return true;
  const auto place = label_place(row.size(), columns, layout);
  constexpr std::string_view plain[] = {"label",      "labels",     "score",
                                        "similarity", "gold_label", "similarity_score"};
  return place && std::ranges::find(plain, names[*place]) != std::end(plain);
}

// Whether every label except that of the first row occurs several times.
bool all_others_recur(const std::vector<Record>& rows, std::size_t place) {
  std::map<std::string_view, std::size_t> counts;
  for (auto row = rows.begin() + 1; row != rows.end(); ++row)
    if (place < row->size()) ++counts[trimmed((*row)[place])];
  return !counts.empty() && std::ranges::all_of(counts, [](const auto& each) { return each.second > 1; });
}

bool has_space(const std::string& cell) {
  return cell.find(' ') != cell.npos;
}

// Names without spaces, above rows that mostly contain other values.
bool stands_out(const std::vector<Record>& rows) {
  if (std::ranges::any_of(rows.front(), has_space)) return false;
  const auto others = std::count_if(rows.begin() + 1, rows.end(), [](const Record& row) {
    return std::ranges::any_of(row, has_space) || !looks_like_names(row);
  });
  return 2 * others > static_cast<std::ptrdiff_t>(rows.size() - 1);
}

bool is_guessed(const std::vector<Record>& rows, const Columns& columns, TableFormat format,
                const TableLayout& layout) {
  constexpr std::size_t min_rows = 3;  // needed to recognize a column of numbers
  const Record& first = rows.front();
  if (rows.size() < 2 || !looks_like_names(first)) return false;
  const auto label = label_place(first.size(), columns, layout);
  if (label && std::any_of(rows.begin() + 1, rows.end(), [&](const Record& row) {
        return *label < row.size() && trimmed(row[*label]) == trimmed(first[*label]);
      }))
    return false;
  for (std::size_t i = 0; i < first.size() && rows.size() >= min_rows; ++i) {
    const auto number = [&](const Record& row) { return i < row.size() && number_in(row[i]).has_value(); };
    if (std::all_of(rows.begin() + 1, rows.end(), number)) return true;
  }
  const bool csv = format == TableFormat::csv;
  return label ? csv || all_others_recur(rows, *label) : csv && stands_out(rows);
}

}  // namespace

TableHeader find_header(const std::vector<Record>& rows, const TableOptions& options, const Columns& columns,
                        TableFormat format, const TableLayout& layout) {
  for (const auto& [role, column] : columns) {
    if (column_number(column)) continue;
    if (options.header == false)
      fail("`header` false: expected the numbers of columns, found {}={}", role, column);
    return TableHeader::yes;
  }
  if (options.header) return *options.header ? TableHeader::yes : TableHeader::no;
  if (has_known_names(rows.front(), columns, layout)) return TableHeader::yes;
  return is_guessed(rows, columns, format, layout) ? TableHeader::guessed : TableHeader::no;
}

}  // namespace attend
