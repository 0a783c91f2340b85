// Which column of a table has which role: by the mapping that was given, by well-known names, by order.
#pragma once

#include "data/table.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attend {

struct ColumnPlaces {
  std::vector<std::pair<std::string, std::size_t>> roles;  // and their columns, from 0
  // How many columns a row may have.
  std::size_t least = 0, most = std::numeric_limits<std::size_t>::max();
};

// The mapping with the roles that the layout knows: of label, labels and score one may stand for another, as
// a layout has only one of them. Error for a role that it does not read.
Columns columns_for(Columns columns, const TableLayout& layout);

// Whether a table's first row names its columns (table.h says when). `columns` from columns_for.
bool is_header(const std::vector<std::string>& row, const Columns& columns, const TableLayout& layout);

// Error, beginning with `place`, if a role that must be there has no column. `numbered`: the mapping may hold
// numbers beside names.
ColumnPlaces places_by_name(const std::vector<std::string>& names, const Columns& columns,
                            const TableLayout& layout, const std::string& place, bool numbered);
// Of a table without a header, with `width` columns.
ColumnPlaces places_by_order(std::size_t width, const Columns& columns, const TableLayout& layout,
                             const std::string& place);

}  // namespace attend
