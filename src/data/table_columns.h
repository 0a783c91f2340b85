// Which column of a table has which role: by the given mapping, by well-known names, or by order.
#pragma once

#include "data/table.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attend {

struct ColumnPlaces {
  std::vector<std::pair<std::string, std::size_t>> roles;  // and their columns, from 0
  // If the role "labels" has one column per label (TableLayout::label_columns): their names and columns.
  std::vector<std::pair<std::string, std::size_t>> labels;
  // The number of columns that a row may have.
  std::size_t min = 0, max = std::numeric_limits<std::size_t>::max();
};

// All roles of a layout, the required ones first.
std::vector<std::string> roles_of(const TableLayout& layout);
// label, labels or score.
bool is_label_role(std::string_view role);
// Whether columns of this name, in lower case, are known to have the role.
bool is_known_name(const std::string& role, std::string_view name);
// Whether two of the names, in lower case, are a known pair of texts: sentence1 and sentence2.
bool has_text_pair(const std::vector<std::string>& names);
// The number in a cell; none if it is a text.
std::optional<double> number_in(std::string_view cell);
// A column's number from 1, as an index from 0; none for a name.
std::optional<std::size_t> column_number(std::string_view text);
// The column of the label in a table of `width` columns without a header; none if unknown.
std::optional<std::size_t> label_place(std::size_t width, const Columns& columns, const TableLayout& layout);

// The mapping with the roles of the layout. label, labels and score can replace each other, because a layout
// has only one of them. Throws Error for a role that the layout does not read.
Columns columns_for(Columns columns, const TableLayout& layout);

// The names of a table's columns, and what is known about their content.
struct NamedColumns {
  const std::vector<std::string>& names;
  std::string place;      // of the names, for errors
  bool numbered = false;  // whether the mapping may also contain numbers
  // Whether a column has only 0 and 1.
  std::function<bool(std::size_t column)> has_flags;
};
// Throws Error if a required role has no column.
ColumnPlaces places_by_name(const NamedColumns& table, const Columns& columns, const TableLayout& layout);
// For a table without a header, with `width` columns.
ColumnPlaces places_by_order(std::size_t width, const Columns& columns, const TableLayout& layout,
                             const std::string& place);

}  // namespace attend
