// Whether a table's first row names its columns.
#pragma once

#include "data/table.h"
#include "formats/table_records.h"

namespace attend {

enum class TableHeader { no, yes, guessed };

// `rows` are the first rows of the table. The first one is a header
// - if `options` say so, or refer to a column by name;
// - if it has a well-known name of a text and one of a label (or of two texts, if there is no label), such as
//   sentence, review, premise, similarity; or if the label's cell is such a name ("label").
// It is guessed to be a header if its cells look like names, its label occurs in no other row, and
// - a column has numbers in all other rows, and there are at least two of them; or
// - every other label occurs several times; or
// - the table is CSV, which usually has a header (without labels: if most other rows do not look like names).
// Throws Error for options that contradict each other. `columns` comes from columns_for.
TableHeader find_header(const std::vector<Record>& rows, const TableOptions& options, const Columns& columns,
                        TableFormat format, const TableLayout& layout);

}  // namespace attend
