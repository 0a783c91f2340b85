// Rows of tables, whatever their format: every row becomes an object whose fields have the names of roles.
//
// - TSV (.tsv, .txt, .tab) and CSV (.csv) as formats/table_records.h reads them.
// - JSON lines (.jsonl, .json, .ndjson): an object a line; a file that is one JSON list of objects is read
//   too.
//
// A role is what a column is for: text, pair, label, labels, score, question, context, answers, choices,
// image, words, tags.
#pragma once

#include "formats/json.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

enum class TableFormat { tsv, csv, json_lines };

// "tsv", "csv", "jsonl" or "json"; Error for another name.
TableFormat parse_table_format(std::string_view name);
// By file extension; throws Error for an unknown one.
TableFormat table_format_of(const std::string& file);

// Which column has which role, by its name in the header or by its number, which counts from 1.
using Columns = std::map<std::string, std::string, std::less<>>;
// "text=sentence,label=label" or "text=1,label=2". A comma that no ROLE= follows belongs to a name. Error for
// an unknown role, or one that comes twice.
Columns parse_columns(std::string_view text);

struct TableOptions {
  std::optional<TableFormat> format = {};  // absent: by each file's ending
  Columns columns = {};                    // empty: by well-known names in the header, else by their order
  std::optional<bool> header = {};         // whether the first line is a header; absent: detected
};

// What a reader needs from a table.
struct TableLayout {
  std::string expected;  // a row, for people: "a text and a label"
  // The roles in the order in which a table without a header has them, for each number of columns that has an
  // order: {{"text", "label"}, {"text", "pair", "label"}}. The roles of the first must be there.
  std::vector<std::vector<std::string>> orders;
  // The role "labels" may have a column for each label, with 0 or 1 in every row (Kaggle's form). The field
  // is then an object of these numbers by the names of the labels.
  bool label_columns = false;
};

// Calls `take` for every row of the files, in order, with the fields that have a role. Fields of TSV and CSV
// are texts; those of JSON are as they stand there. A row is bad (bad_rows.h) if it lacks a column, is not
// valid UTF-8 or JSON, or if `take` throws an Error. Blank lines are passed over. A remark for each file says
// which columns and labels were found (table_summary.h).
//
// Which line is a header, table_header.h says. With a header, roles that `columns` does not speak of are
// found by well-known names ("sentence1" and "sentence2" are text and pair; so are the fields of JSON); if
// there are as many columns left as roles, these are taken in order. Numbers in `columns` are the places,
// with a header or without.
void read_table(const std::vector<std::string>& files, const TableOptions& options, const TableLayout& layout,
                const std::function<void(const Fields& row)>& take);

}  // namespace attend
