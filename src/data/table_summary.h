// A summary of a table, for a message that shows whether it was read as intended:
//
//   train.tsv: columns tweet (text), hate (label); labels 0, 1; 2000 rows; header: yes
#pragma once

#include "data/table_columns.h"
#include "data/table_header.h"

#include <map>
#include <string>

namespace attend {

class TableSummary {
 public:
  explicit TableSummary(std::string file) : file_(std::move(file)) {}

  // For TSV and CSV: `names` is the header, or empty.
  void describe(const ColumnPlaces& places, const std::vector<std::string>& names, TableHeader header,
                char separator);
  // For JSON: objects may differ; the first one describes the file.
  void describe_fields(const ColumnPlaces& places, const std::vector<std::string>& names);
  // A row that is not bad.
  void add(const Fields& row);
  // Logs the summary. Warns if the label of the first row occurs in no other row while all others repeat,
  // because that row may be a header.
  void report() const;

 private:
  void add_label(const Json& value);
  void add_score(const Json& value);
  bool first_stands_out() const;
  std::string labels() const;

  std::string file_, columns_, ends_;  // the text before labels and rows, and after them
  bool has_header_ = true;             // or fields with names
  std::size_t rows_ = 0;
  std::map<std::string, std::size_t> labels_;  // how often each occurs
  std::string first_label_;
  double lowest_ = 0, highest_ = 0;  // of scores
  bool has_scores_ = false;
};

}  // namespace attend
