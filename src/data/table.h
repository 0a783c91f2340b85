// Rows of tables in any format: every row becomes an object whose fields have the names of roles.
//
// - TSV (.tsv, .txt, .tab) and CSV (.csv) as formats/table_records.h reads them.
// - JSON lines (.jsonl, .json, .ndjson): one object per line; a file that is one JSON list of objects also
//   works.
//
// A role is the use of a column: text,
#pragma once

#include "formats/json/json.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

enum class TableFormat { tsv, csv, json_lines };

// "tsv", "csv", "jsonl" or "json"; throws Error for another name.
TableFormat parse_table_format(std::string_view name);
// By file extension; throws Error for an unknown one.
TableFormat table_format_of(const std::string& file);

// The column of each role, by its name in the header or by its number from 1.
using Columns = std::map<std::string, std::string, std::less<>>;
// "text=sentence,label=label" or "text=1,label=2". A comma without a following ROLE= belongs to a name.
// Throws Error for an unknown or repeated role.
Columns parse_columns(std::string_view text);

struct TableOptions {
  std::optional<TableFormat> format = {};  // absent: by each file's ending
  Columns columns = {};                    // empty: by well-known names in the header, else by their order
  std::optional<bool> header = {};         // whether the first line is a header; absent: detected
};

// What a reader needs from a table.
struct TableLayout {
  std::string expected;  // a row in words, for messages: "a text and a label"
  // The roles in order for a table without a header, for each supported number of columns: {{"text",
  // "label"}, {"text", "pair", "label"}}. The roles of the first entry are required.
  std::vector<std::vector<std::string>> orders;
  // The role "labels" may have one column per label, with 0 or 1 in every row (Kaggle's format). Then the
  // field is an object of these numbers by label name.
  bool label_columns = false;
};

// Calls `take` for every row of the files, in order, with the fields that have a role. Fields of TSV and CSV
// are texts; those of JSON are unchanged. A row is bad (bad_rows.h) if it lacks a column, is not valid UTF-8
// or JSON, or if `take` throws an Error. Blank lines are skipped. For each file a log line names the columns
// and labels that were found (table_summary.h).
//
// table_header.h decides which line is a header. With a header, roles that `columns` does not mention are
// found by well-known names ("sentence1" and "sentence2" are text and pair), and so are the fields of JSON;
// if the number of remaining columns equals that of remaining roles, they are assigned in order. Numbers in
// `columns` are positions, with or without a header.
void read_table(const std::vector<std::string>& files, const TableOptions& options, const TableLayout& layout,
                const std::function<void(const Fields& row)>& take);

}  // namespace attend
